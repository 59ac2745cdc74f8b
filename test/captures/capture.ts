// Takes the captures of this folder again: `node test/captures/capture.ts [name…]`. A TCP listener on
// 127.0.0.1 stores what each client sends before it hears anything; nothing ever leaves the loopback.
// A client that is not installed is reported and its old capture kept.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SERVER_NAME = 'demo-cluster.magnum-system';
/** The first flight is over when the client, unanswered, has been quiet for so long. */
const QUIET_MS = 300;
const CLIENT_LIMIT_MS = 60_000;

interface Client {
  /** Name of the capture: `<name>.hex`. */
  readonly name: string;
  /** The command line; `scratch` is an empty folder that is removed afterwards. */
  readonly command: (port: number, scratch: string) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Makes a hello longer than three records of 512 bytes. */
const LONG_ALPN = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(255)).join(',');

const openssl = (...options: string[]) => {
  return (port: number) => ['openssl', 's_client', '-connect', `127.0.0.1:${port}`, ...options];
};

const nodeClient = (port: number) =>
  `require('node:tls').connect({ host: '127.0.0.1', port: ${port}, servername: '${SERVER_NAME}' }).on('error', () => {})`;

const pythonClient = (port: number) =>
  [
    'import socket, ssl',
    `raw = socket.create_connection(("127.0.0.1", ${port}))`,
    `ssl.create_default_context().wrap_socket(raw, server_hostname="${SERVER_NAME}")`,
  ].join('\n');

const goClient = (port: number) => `package main

import "crypto/tls"

func main() {
	tls.Dial("tcp", "127.0.0.1:${port}", &tls.Config{ServerName: "${SERVER_NAME}", NextProtos: []string{"h2", "http/1.1"}})
}
`;

const javaClient = (port: number) => `import java.util.List;
import javax.net.ssl.*;

class Client {
  public static void main(String[] arguments) throws Exception {
    SSLSocket socket = (SSLSocket) SSLSocketFactory.getDefault().createSocket("127.0.0.1", ${port});
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setServerNames(List.of(new SNIHostName("${SERVER_NAME}")));
    socket.setSSLParameters(parameters);
    socket.startHandshake();
  }
}
`;

const chromium = (port: number, scratch: string) => [
  'chromium',
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--user-data-dir=${scratch}`,
  '--host-resolver-rules=MAP * 127.0.0.1',
  `https://${SERVER_NAME}:${port}/`,
];

const curl = (...options: string[]) => {
  return (port: number) => [
    'curl',
    '--silent',
    ...options,
    '--connect-to',
    `${SERVER_NAME}:443:127.0.0.1:${port}`,
    `https://${SERVER_NAME}/`,
  ];
};

function sourceFile(scratch: string, name: string, text: string): string {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

const CLIENTS: readonly Client[] = [
  { name: 'openssl-3.0', command: openssl('-servername', SERVER_NAME) },
  { name: 'openssl-3.0-tls1.2', command: openssl('-servername', SERVER_NAME, '-tls1_2') },
  {
    name: 'openssl-3.0-tls1.0',
    command: openssl('-servername', SERVER_NAME, '-tls1', '-cipher', 'ALL:@SECLEVEL=0'),
  },
  { name: 'openssl-3.0-no-server-name', command: openssl('-noservername') },
  {
    name: 'openssl-3.0-four-records',
    command: openssl('-servername', SERVER_NAME, '-max_send_frag', '512', '-alpn', LONG_ALPN),
  },
  { name: 'go-1.26', command: (port, scratch) => ['go', 'run', sourceFile(scratch, 'client.go', goClient(port))] },
  { name: 'node-24', command: (port) => [process.execPath, '-e', nodeClient(port)] },
  { name: 'node-20', command: (port) => ['/usr/bin/node', '-e', nodeClient(port)] },
  { name: 'python-3.11', command: (port) => ['python3', '-c', pythonClient(port)] },
  { name: 'java-17', command: (port, scratch) => ['java', sourceFile(scratch, 'Client.java', javaClient(port))] },
  { name: 'curl-7.88', command: curl() },
  { name: 'curl-7.88-tls1.2', command: curl('--http1.1', '--tls-max', '1.2') },
  {
    name: 'gnutls-3.7',
    command: (port) => ['gnutls-cli', '--insecure', '--port', `${port}`, '--sni-hostname', SERVER_NAME, '127.0.0.1'],
  },
  {
    name: 'kubectl-1.32',
    command: (port) => [
      'kubectl',
      `--server=https://127.0.0.1:${port}`,
      `--tls-server-name=${SERVER_NAME}`,
      '--request-timeout=5s',
      'get',
      '--raw=/version',
    ],
    environment: { KUBECONFIG: '/dev/null' },
  },
  ...['a', 'b', 'c'].map((run) => ({ name: `chromium-156-${run}`, command: chromium })),
];

/** Starts the client and resolves to its first flight; rejects when it ends without sending one. */
async function firstFlight(client: Client): Promise<Buffer> {
  const scratch = mkdtempSync(join(tmpdir(), 'isthmus-capture-'));
  const listener = createServer();
  let child: ChildProcess | undefined;
  try {
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const flight = new Promise<Buffer>((resolve) => {
      listener.once('connection', (socket) => {
        const chunks: Buffer[] = [];
        let quiet: NodeJS.Timeout | undefined;
        socket.on('error', () => {});
        socket.on('data', (chunk) => {
          chunks.push(chunk);
          clearTimeout(quiet);
          quiet = setTimeout(() => {
            socket.destroy();
            resolve(Buffer.concat(chunks));
          }, QUIET_MS);
        });
      });
    });
    const [program, ...options] = client.command(address.port, scratch);
    child = spawn(program as string, options, {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, HOME: scratch, GOCACHE: goCache(), ...client.environment },
      detached: true,
    });
    let complaint = '';
    child.stderr?.on('data', (chunk) => {
      complaint += chunk;
    });
    const ended = new Promise<never>((_, reject) => {
      child?.once('error', reject);
      child?.once('exit', (code) => setTimeout(() => reject(new Error(`exit ${code}: ${complaint.trim()}`)), 1_000));
      setTimeout(() => reject(new Error('no connection in time')), CLIENT_LIMIT_MS).unref();
    });
    return await Promise.race([flight, ended]);
  } finally {
    // Its own process group: a browser leaves children behind otherwise.
    if (child?.pid !== undefined) {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The client has ended by itself.
      }
    }
    listener.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function goCache(): string {
  try {
    return execFileSync('go', ['env', 'GOCACHE'], { encoding: 'utf8' }).trim();
  } catch {
    return join(tmpdir(), 'go-cache');
  }
}

const wanted = process.argv.slice(2);
for (const client of CLIENTS) {
  if (wanted.length > 0 && !wanted.includes(client.name)) continue;
  try {
    const flight = await firstFlight(client);
    const lines = flight.toString('hex').match(/.{1,64}/g) ?? [];
    writeFileSync(new URL(`${client.name}.hex`, import.meta.url), `${lines.join('\n')}\n`);
    console.log(`${client.name}: ${flight.length} bytes`);
  } catch (error) {
    console.log(`${client.name}: NOT CAPTURED, ${error instanceof Error ? error.message : String(error)}`);
  }
}
process.exit(0);
