// An HTTPS server that a test scripts, for faults that no real API server shows on demand. It counts connections, can stop and
// return on the same port, and writes kubeconfigs for itself.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Certificate, selfSigned } from '../support/certificates.ts';
import { freePort } from '../support/tcp.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly isWatch: boolean;
}

export type Handler = (asked: Asked, response: ServerResponse) => void;

export const API_NAME = 'api.test';

let certificate: Certificate | null = null;
export function apiCertificate(): Certificate {
  certificate ??= selfSigned(API_NAME);
  return certificate;
}

export class ScriptedApi {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-kube-'));
  readonly asked: Asked[] = [];
  connections = 0;
  handler: Handler = (_, response) => void response.writeHead(404).end();
  readonly #tls: boolean;
  readonly #serverOptions: object;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  port = 0;

  constructor({ tls = true, ...serverOptions }: { readonly tls?: boolean } & Record<string, unknown> = {}) {
    this.#tls = tls;
    this.#serverOptions = serverOptions;
  }

  async start(): Promise<this> {
    const { cert, key } = apiCertificate();
    this.port ||= await freePort();
    const listener = (request: IncomingMessage, response: ServerResponse) => this.#take(request, response);
    const server: Server = this.#tls
      ? (createServer({ cert, key, ...this.#serverOptions }, listener) as unknown as Server)
      : createHttpServer(this.#serverOptions, listener);
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.port, '127.0.0.1', resolve);
    });
    this.#server = server;
    return this;
  }

  /** Like a process that dies: resets every connection, and then the port refuses. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.cut();
    await closed;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  get url(): string {
    return `${this.#tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  kubeconfig(user: object = { token: 'a-token' }, cluster: object = {}, name = 'kubeconfig'): string {
    const path = join(this.directory, name);
    const trust = {
      'tls-server-name': API_NAME,
      'certificate-authority-data': apiCertificate().cert.toString('base64'),
    };
    const config = {
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'here', user: 'me' } }],
      clusters: [{ name: 'here', cluster: { server: this.url, ...(this.#tls ? trust : {}), ...cluster } }],
      users: [{ name: 'me', user }],
    };
    writeFileSync(path, stringify(config));
    return path;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('end', () => {
      const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://x');
      const asked: Asked = {
        method: request.method ?? '',
        path: pathname,
        query,
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
        isWatch: query.get('watch') === 'true',
      };
      this.asked.push(asked);
      this.handler(asked, response);
    });
  }
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function refuse(
  response: ServerResponse,
  code: number,
  reason: string,
  message = '',
  headers = {},
): void {
  json(
    response,
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message },
    code,
    headers,
  );
}
