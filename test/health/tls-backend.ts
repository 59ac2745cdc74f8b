// A TLS server for tests, in a separate process that can run in a netns. It prints every accepted connection and every handshake to
// stdout, one JSON object per line.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inNetns } from '../support/network/netns.ts';

const SERVER = `
const tls = require('node:tls'), fs = require('node:fs');
const [key, cert, host, port] = process.argv.slice(1);
const say = (event) => console.log(JSON.stringify(event));
const server = tls.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) });
server.on('connection', (socket) => { say({ event: 'connection' }); socket.on('error', () => {}); });
server.on('secureConnection', (socket) => {
  say({ event: 'secure', servername: socket.servername });
  socket.on('error', (error) => say({ event: 'error', code: error.code }));
  socket.on('end', () => say({ event: 'end' }));
  socket.resume();
});
server.on('tlsClientError', (error) => say({ event: 'tlsClientError', code: error.code }));
server.listen(Number(port), host, () => say({ event: 'listening', port: server.address().port }));
`;

export interface BackendEvent {
  readonly event: 'listening' | 'connection' | 'secure' | 'end' | 'error' | 'tlsClientError' | 'log';
  readonly port?: number;
  readonly servername?: string;
  readonly code?: string;
  readonly line?: string;
}

export interface TlsBackend {
  readonly port: number;
  readonly events: readonly BackendEvent[];
  count(event: BackendEvent['event']): number;
  stop(): Promise<void>;
}

let certificate: { key: string; cert: string } | null = null;

/** A self-signed certificate, made once per process. /run belongs to the sandbox and is deleted with it. */
export function testCertificate(): { key: string; cert: string } {
  if (certificate !== null) return certificate;
  const directory = mkdtempSync('/run/isthmus-health-');
  const key = join(directory, 'key.pem');
  const cert = join(directory, 'cert.pem');
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  execFileSync(
    'openssl',
    ['req', '-x509', ...curve, '-nodes', '-days', '365', '-subj', '/CN=test', '-keyout', key, '-out', cert],
    { stdio: 'ignore' },
  );
  certificate = { key, cert };
  return certificate;
}

/** Runs the command in the netns. Each printed line is an event, and the first must be `listening`. */
export async function startBackend(netns: string, command: readonly string[]): Promise<TlsBackend> {
  const child: ChildProcess = spawn(...inNetns(netns, ...command), { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const events: BackendEvent[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const event = JSON.parse(line) as BackendEvent;
      events.push(event);
      if (event.event === 'listening') resolve(event.port!);
    });
    child.on('error', reject);
    void exited.then(() => reject(new Error(`the backend ended: ${command.join(' ')}`)));
  });
  return {
    port,
    events,
    count: (event) => events.filter((each) => each.event === event).length,
    stop: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}

export function startNodeBackend(netns: string, host: string, port = 0): Promise<TlsBackend> {
  const { key, cert } = testCertificate();
  return startBackend(netns, [process.execPath, '-e', SERVER, key, cert, host, String(port)]);
}
