// Real clients reach two clusters with the same address by name, through the built program, in real namespaces.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Isthmus } from '../support/isthmus.ts';
import { readAll, tcpClient } from '../support/tcp.ts';
import { ADDRESS, type TestCluster, TwoClusters } from '../support/two-clusters.ts';

const clusters = new TwoClusters();
const isthmus = new Isthmus();
const scratch = mkdtempSync(join(tmpdir(), 'isthmus-test-clients-'));

beforeAll(async () => {
  await clusters.start();
  isthmus.writeManifest('alpha.yaml', clusters.alpha.manifest);
  isthmus.writeManifest('beta.yaml', clusters.beta.manifest);
  await isthmus.start('--hello-timeout', '60s');
});
/** A generous bound: without a cache the compiler first compiles all of Go's TLS. */
const COMPILE_MS = 900_000;
beforeAll(async () => {
  if (!clients.go?.there) return;
  const file = join(scratch, 'client.go');
  writeFileSync(file, GO);
  const { code, output } = await run('go', ['build', '-o', join(scratch, 'client'), file], '', COMPILE_MS);
  if (code !== 0) throw new Error(output);
}, COMPILE_MS);
afterAll(async () => {
  await isthmus.stop();
  await clusters.stop();
  rmSync(scratch, { recursive: true, force: true });
});

function run(
  command: string,
  args: readonly string[],
  input = '',
  timeout = 150_000,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(command, [...args], { timeout }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: stdout + stderr });
    });
    child.stdin?.end(input);
  });
}

const available = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

const PYTHON = `
import socket, ssl, sys
port, name, ca = int(sys.argv[1]), sys.argv[2], sys.argv[3]
context = ssl.create_default_context(cafile=ca)
with context.wrap_socket(socket.create_connection(("127.0.0.1", port), 120), server_hostname=name) as s:
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
    data = b""
    while chunk := s.recv(4096): data += chunk
print(data.decode())
`;

const GO = `
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
)

func main() {
	pem, _ := os.ReadFile(os.Args[3])
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	conn, err := tls.Dial("tcp", "127.0.0.1:"+os.Args[1], &tls.Config{ServerName: os.Args[2], RootCAs: pool})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Fprint(conn, "GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
	data, _ := io.ReadAll(conn)
	fmt.Println(string(data))
}
`;

type Client = (cluster: TestCluster, serverName: string) => Promise<{ code: number; output: string }>;

const clients: Record<string, { readonly there: boolean; readonly ask: Client }> = {
  openssl: {
    there: available('openssl', 'version'),
    ask: ({ certificate }, serverName) =>
      run(
        'openssl',
        [
          's_client',
          '-connect',
          `127.0.0.1:${isthmus.port}`,
          '-servername',
          serverName,
          '-CAfile',
          certificate.certFile,
        ].concat(['-verify_return_error', '-verify_hostname', serverName, '-quiet', '-ign_eof']),
        'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      ),
  },
  curl: {
    there: available('curl', '--version'),
    ask: ({ certificate }, serverName) =>
      run(
        'curl',
        ['-sS', '--noproxy', '*', '--cacert', certificate.certFile].concat([
          '--connect-to',
          `${serverName}:6443:127.0.0.1:${isthmus.port}`,
          `https://${serverName}:6443/`,
        ]),
      ),
  },
  python: {
    there: available('python3', '-c', 'import ssl'),
    ask: ({ certificate }, serverName) =>
      run('python3', ['-c', PYTHON, String(isthmus.port), serverName, certificate.certFile]),
  },
  go: {
    there: available('go', 'version'),
    ask: ({ certificate }, serverName) =>
      run(join(scratch, 'client'), [String(isthmus.port), serverName, certificate.certFile]),
  },
  node: {
    there: true,
    ask: ({ certificate }, serverName) =>
      new Promise((resolve) => {
        const options = {
          host: '127.0.0.1',
          port: isthmus.port,
          servername: serverName,
          ca: certificate.cert,
          agent: false,
        };
        get(options, (response) => {
          let output = '';
          response.on('data', (chunk: Buffer) => {
            output += chunk.toString();
          });
          response.on('end', () => resolve({ code: 0, output }));
        }).on('error', (error) => resolve({ code: 1, output: error.message }));
      }),
  },
};

describe.each(Object.entries(clients))('%s', (_name, { there, ask }) => {
  test.skipIf(!there)('reaches both clusters by name, each with its own certificate', async () => {
    for (const cluster of [clusters.alpha, clusters.beta]) {
      const { code, output } = await ask(cluster, `${cluster.name}.magnum-system`);
      expect(output).toContain(`I am ${cluster.name}`);
      expect(code).toBe(0);
    }
  });

  test.skipIf(!there)('gets unrecognized_name for a name without a route', async () => {
    const { code, output } = await ask(clusters.alpha, 'nobody.magnum-system');
    expect(output.toLowerCase()).toMatch(/unrecognized[ _]name/);
    expect(code).not.toBe(0);
  });
});

describe('names', () => {
  test.each([
    'alpha',
    'alpha.magnum-system',
    'ALPHA.Magnum-System',
    'alpha.magnum-system.svc',
    'alpha.magnum-system.svc.cluster.local',
  ])('%s leads to alpha', async (serverName) => {
    const answer = await clients.node?.ask(clusters.alpha, serverName);
    expect(answer?.output).toBe('I am alpha\n');
  });
});

describe('a client that is not a routed TLS client', () => {
  test('gets unrecognized_name when it sends no server name', async () => {
    const { output } = await run('openssl', [
      's_client',
      '-connect',
      `127.0.0.1:${isthmus.port}`,
      '-noservername',
    ]);
    expect(output).toContain('unrecognized name');
    const record = await isthmus.record((line) => line.reason === 'no-server-name');
    expect(record).toMatchObject({ outcome: 'alert-sent', serverName: null, cluster: null, level: 'debug' });
  });

  test.each([
    ['plain HTTP', 'GET / HTTP/1.1\r\nHost: alpha.magnum-system\r\n\r\n', 'plain-http'],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n', 'ssh'],
    ['a PROXY header from an untrusted address', 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n', 'proxy-protocol'],
    [
      'an SSLv2 hello',
      Buffer.from('802e0100020015000000100100800300800700c0', 'hex').toString('latin1'),
      'sslv2',
    ],
  ])('that sends %s is closed at once without a byte', async (_what, bytes, reason) => {
    const started = performance.now();
    const socket = await tcpClient(isthmus.port);
    socket.write(bytes, 'latin1');
    expect((await readAll(socket)).bytes.length).toBe(0);
    socket.destroy();
    expect(performance.now() - started).toBeLessThan(30_000); // well before the hello timeout of 60 s
    expect(await isthmus.record((line) => line.reason === reason)).toMatchObject({
      outcome: 'closed',
      level: 'debug',
    });
  });

  test('that connects and closes leaves one record and nothing else', async () => {
    const socket = connect(isthmus.port, '127.0.0.1');
    const from = await new Promise<string>((resolve) => {
      socket.on('connect', () => resolve(`127.0.0.1:${socket.localPort}`));
    });
    socket.end();
    expect(await isthmus.record((line) => line.client === from)).toMatchObject({
      outcome: 'client-left',
      level: 'debug',
    });
  });
});

/** Reads to the end and then sends its close_notify. (https.get() closes once it has the body, and later bytes cause a reset.) */
function askToTheEnd({ certificate }: TestCluster, servername: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port: isthmus.port, servername, ca: certificate.cert });
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.resume();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  });
}

describe('the report of a connection', () => {
  test('is one record with its source, its destination, its bytes, and its outcome', async () => {
    await askToTheEnd(clusters.beta, 'beta.magnum-system.svc');
    const record = await isthmus.record((line) => line.serverName === 'beta.magnum-system.svc');
    expect(record).toMatchObject({
      level: 'info',
      msg: 'connection ended',
      listener: 'tls',
      cluster: 'beta',
      namespace: 'magnum-system',
      netns: `/run/netns/${clusters.beta.netns}`,
      backend: `${ADDRESS}:6443`,
      failedDials: [],
    });
    // A server that closes before it reads the client's close_notify answers with a reset. Both are correct ends.
    expect(['finished', 'backend-reset']).toContain(record.outcome);
    expect(record.reason).toBe(record.outcome);
    expect(record.client).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(record.bytesFromClient).toBeGreaterThan(300);
    expect(record.bytesFromBackend).toBeGreaterThan(500);
    expect(record.durationMs).toBeGreaterThan(0);
    expect(isthmus.log.filter((line) => line.client === record.client)).toHaveLength(1);
  });

  test('is also in the metrics', async () => {
    const { body } = await isthmus.get('/metrics');
    expect(body).toMatch(/isthmus_connections_ended_total\{outcome="finished",reason="finished"\} [1-9]/);
    expect(body).toMatch(
      /isthmus_connections_ended_total\{outcome="alert-sent",reason="unknown-server-name"\} [1-9]/,
    );
    expect(body).toMatch(/isthmus_cluster_serving\{namespace="magnum-system",cluster="alpha"\} 1/);
    expect(body).not.toContain('nobody.magnum-system');
  });
});
