// Serves health, metrics and status over HTTP, read-only, with a deadline for every page and one request per connection.
// It does not use Node's HTTP server, which creates objects for all pipelined requests of a chunk before it can be stopped.
// A flood of pipelined requests, thousands per chunk, blocked every probe for seconds.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Endpoint } from '../../cli/config/values.ts';
import { descriptorOf } from '../../netns/descriptor.ts';
import { adminRefusal } from './admin-host.ts';
import { ConnectionGuard } from './connection-guard.ts';
import { type RequestHead, requestHead } from './request-head.ts';

export interface AdminPage {
  readonly status: number;
  readonly type: 'text' | 'json' | 'metrics';
  readonly body: string | Uint8Array;
}

export interface AdminServerOptions {
  /** Answers requests with any Host: for a port whose pages a foreign site may read. */
  readonly anyHost?: boolean;
  readonly maxConnections?: number;
  /** Receives the source address of each connection that was evicted because the port was full. */
  readonly onEvicted?: (sources: readonly string[]) => void;
}

export interface AdminRequest {
  /** The path segment that matches `<…>` in the page's path; empty if the path has none. */
  readonly subject: string;
  readonly query: URLSearchParams;
}

/** Pages by path. A path that ends with `/<…>` matches any single last segment. */
export type AdminPages = Readonly<Record<string, (request: AdminRequest) => AdminPage | Promise<AdminPage>>>;

const TYPES: Record<AdminPage['type'], string> = {
  text: 'text/plain; charset=utf-8',
  json: 'application/json; charset=utf-8',
  metrics: 'text/plain; version=0.0.4; charset=utf-8',
};

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  421: 'Misdirected Request',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** Linux' default upper bound (somaxconn). In a flood a probe waits in this queue and is not lost. */
const BACKLOG = 4096;
/** Bytes after a request are read and discarded: on close, unread bytes make the kernel send a reset that can cut the answer off. */
const MAX_DISCARDED_BYTES = 256 * 1024;

type Request = Extract<RequestHead, { kind: 'request' }>;

export class AdminServer {
  readonly #server: Server;
  readonly #pages: AdminPages;
  readonly #anyHost: boolean;
  readonly #guard: ConnectionGuard;
  /** The local address of the listening socket. */
  #address = '';

  constructor(pages: AdminPages, options: AdminServerOptions = {}) {
    const { anyHost = false, maxConnections = 128, onEvicted = () => {} } = options;
    this.#pages = pages;
    this.#anyHost = anyHost;
    this.#guard = new ConnectionGuard({ maxConnections, onEvicted });
    const paused = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true };
    this.#server = createServer(paused, (socket) => this.#accept(socket));
  }

  /** `fd`: a socket that already listens. It replaces the endpoint. */
  listen(endpoint: Endpoint, fd?: number): Promise<{ address: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const { host, port: wanted } = endpoint;
      const where = fd !== undefined ? { fd } : { port: wanted, ...(host !== undefined && { host }) };
      this.#server.listen({ ...where, backlog: BACKLOG }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', () => {}); // one accept failed: the next may succeed
        const { address, port } = this.#server.address() as AddressInfo;
        this.#address = address;
        resolve({ address, port });
      });
    });
  }

  /** The listening socket, for the handover to a successor process. This server keeps its own descriptor. */
  get fd(): number {
    return descriptorOf(this.#server);
  }

  /** Stops accepting: the successor process accepts on the same socket. Answers in progress are completed. */
  stopAccepting(): void {
    this.#server.close();
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#guard.closeAll();
    });
  }

  #accept(socket: Socket): void {
    socket.on('error', () => {}); // the client has disconnected
    this.#guard.opened(socket, () => this.#read(socket));
  }

  #read(socket: Socket): void {
    let bytes: Buffer = Buffer.alloc(0);
    const receive = (chunk: Buffer) => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const head = requestHead(bytes);
      if (head.kind === 'incomplete') return;
      socket.off('data', receive).off('end', abandon);
      socket.pause();
      this.#guard.answers(socket, true);
      socket.once('finish', () => this.#sent(socket));
      if (head.kind === 'invalid') {
        write(socket, { status: head.status, type: 'text', body: `${head.reason}\n` });
      } else void this.#answer(socket, head);
    };
    const abandon = () => socket.destroy();
    socket.on('data', receive).on('end', abandon);
    socket.resume();
  }

  /** The kernel has the entire answer. The client closes, or the guard's deadline closes the connection. */
  #sent(socket: Socket): void {
    this.#guard.answers(socket, false);
    let discarded = 0;
    const discard = () => void socket.resume();
    socket.on('data', (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > MAX_DISCARDED_BYTES) socket.destroy();
      else this.#guard.reads(socket.pause(), discard);
    });
    this.#guard.reads(socket, discard);
  }

  async #answer(socket: Socket, request: Request): Promise<void> {
    const page = await this.#page(socket, request);
    if (!socket.destroyed) write(socket, page, { isHead: request.method === 'HEAD' });
  }

  #page(socket: Socket, { method, target, headers }: Request): AdminPage | Promise<AdminPage> {
    if (!this.#anyHost) {
      const ownAddresses = [this.#address, socket.localAddress ?? ''];
      const refusal = adminRefusal({ target, headers, ownAddresses });
      if (refusal !== null) return { status: refusal.status, type: 'text', body: `${refusal.reason}\n` };
    }
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, type: 'text', body: 'only GET\n' };
    const [path = '/', query = ''] = target.split('?', 2);
    const found = this.#find(path);
    if (found === null)
      return { status: 404, type: 'text', body: `there are: ${Object.keys(this.#pages).join(' ')}\n` };
    return this.#render(found.key, { subject: found.subject, query: new URLSearchParams(query) });
  }

  #find(path: string): { readonly key: string; readonly subject: string } | null {
    if (Object.hasOwn(this.#pages, path) && !path.endsWith('>')) return { key: path, subject: '' };
    const end = path.lastIndexOf('/') + 1;
    const subject = decoded(path.slice(end));
    if (subject === null || subject === '') return null;
    const key = Object.keys(this.#pages).find(
      (each) => each.endsWith('>') && each.startsWith(`${path.slice(0, end)}<`),
    );
    return key === undefined ? null : { key, subject };
  }

  async #render(key: string, request: AdminRequest): Promise<AdminPage> {
    try {
      return await (this.#pages[key] as AdminPages[string])(request);
    } catch (error) {
      return { status: 500, type: 'text', body: `${String(error)}\n` };
    }
  }
}

function write(socket: Socket, { status, type, body }: AdminPage, { isHead = false } = {}): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Unknown'}`,
    `Content-Type: ${TYPES[type]}`,
    `Content-Length: ${bytes.length}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
    ...(status === 405 ? ['Allow: GET, HEAD'] : []),
  ];
  socket.cork(); // one packet if head and body fit
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  if (isHead) socket.end();
  else socket.end(bytes);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
