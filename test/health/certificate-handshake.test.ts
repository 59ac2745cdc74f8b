// Reading a certificate with real servers in a real netns: what is read, what the server notices, and what a hostile server can do.
import { execFileSync } from 'node:child_process';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CertificateHandshake, type HandshakeResult } from '../../src/health/certificate-handshake.ts';
import type { ProbeTarget } from '../../src/health/probe.ts';
import { native } from '../../src/netns/native.ts';
import { selfSigned } from '../support/certificates.ts';
import { makeNetns } from '../support/network/netns.ts';
import { openDescriptors } from '../support/process.ts';
import { buildGoBackend, startGoBackend } from './go-backend.ts';
import { netnsRefOf } from './netns-ref-of.ts';
import { startNodeBackend, type TlsBackend } from './tls-backend.ts';

const netns = makeNetns({ addresses: ['10.8.0.1/32'] });
const ref = netnsRefOf(netns.path);
const servers: Server[] = [];
const accepted = new Set<Socket>();
let patient: CertificateHandshake;
/** For handshakes that never end by themselves. */
let hasty: CertificateHandshake;

beforeAll(() => {
  patient = new CertificateHandshake({ addon: native, timeoutMs: 30_000 });
  hasty = new CertificateHandshake({ addon: native, timeoutMs: 500 });
});
afterAll(() => {
  for (const socket of accepted) socket.destroy();
  for (const server of servers) server.close();
  patient.close();
  hasty.close();
  netns.remove();
});

const inNetns = (port: number): ProbeTarget => ({
  key: 'k',
  address: '10.8.0.1',
  port,
  netns: ref,
  serverName: 'alpha.magnum-system',
});
const local = (port: number): ProbeTarget => ({ ...inNetns(port), address: '127.0.0.1', netns: null });
const read = (target: ProbeTarget, by = patient): Promise<HandshakeResult> =>
  new Promise((resolve) => by.start(target, resolve));

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    accepted.add(socket.on('error', () => {}).on('close', () => accepted.delete(socket)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}
const plainServer = (act: (socket: Socket) => void) => listening(createServer(act));
const tlsServer = (certificate: { key: Buffer; cert: Buffer | string }, act: (socket: TLSSocket) => void) =>
  listening(
    createTlsServer(certificate, (socket) => {
      socket.on('error', () => {});
      act(socket);
    }),
  );

/** DHE needs an RSA key. */
function rsaCertificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', '-', '-subj', '/CN=alpha'];
  const pem = execFileSync('openssl', request, { stdio: ['ignore', 'pipe', 'ignore'] });
  return { key: pem, cert: pem };
}

test('a server that offers only DHE gets no handshake, because its group could block the thread', async () => {
  const onlyDhe = { dhparam: 'auto', ciphers: 'DHE-RSA-AES256-GCM-SHA384', maxVersion: 'TLSv1.2' } as const;
  const options = { ...rsaCertificate(), ...onlyDhe };
  const port = await tlsServer(options, () => {});
  expect(await read(local(port))).toEqual({ error: expect.stringMatching(/^(ERR_SSL|ECONNRESET)/) });
});

test('reads the names and the end, sends the server name, and closes in order', async () => {
  const names = ['alpha', 'alpha.magnum-system', '10.0.0.5', 'fd00::5'] as const;
  const seen: (string | false | null)[] = [];
  const ended = Promise.withResolvers<void>();
  const port = await tlsServer(selfSigned(...names), (socket) => {
    seen.push((socket as TLSSocket & { servername: string | false | null }).servername);
    socket.resume().on('end', () => ended.resolve());
  });
  const result = await read(local(port));
  if ('error' in result) expect.fail(result.error);
  expect(result.certificate).toMatchObject({ names, omitted: 0 });
  const days = (result.certificate.notAfterMs - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(364.9);
  expect(days).toBeLessThan(365.1);
  await ended.promise;
  expect(seen).toEqual(['alpha.magnum-system']);
});

describe('a server in a netns', () => {
  let backend: TlsBackend;
  beforeAll(async () => {
    backend = await startNodeBackend(netns.name, '10.8.0.1');
  });
  afterAll(() => backend.stop());

  test('sees one connection for each reading, without an error, and no descriptor is lost', async () => {
    await read(inNetns(backend.port));
    const before = openDescriptors();
    const [connections, ends] = [backend.count('connection'), backend.count('end')];
    for (let round = 0; round < 50; round += 1)
      expect(await read(inNetns(backend.port))).toHaveProperty('certificate');
    await expect.poll(() => backend.count('end')).toBe(ends + 50);
    expect(backend.count('connection')).toBe(connections + 50);
    expect(backend.count('error') + backend.count('tlsClientError')).toBe(0);
    await expect.poll(() => openDescriptors()).toBeLessThanOrEqual(before);
  });
});

const go = buildGoBackend();
test.skipIf('missing' in go)(
  'leaves nothing in the log of Go’s net/http, which writes the log of kube-apiserver',
  async () => {
    if ('missing' in go) return;
    const backend = await startGoBackend(go.binary, netns.name, '10.8.0.1:0');
    for (let round = 0; round < 100; round += 1)
      expect(await read(inNetns(backend.port))).toHaveProperty('certificate');
    // A client that sends something else does leave a line, which comes after those of the readings.
    const other = await read({ ...inNetns(backend.port), serverName: '' }, hasty);
    expect(other).toHaveProperty('certificate');
    expect(backend.count('connection')).toBe(101);
    expect(backend.events.filter(({ event }) => event === 'log')).toEqual([]);
    await backend.stop();
  },
);

describe('a hostile server', () => {
  test.each<[title: string, act: (socket: Socket) => void, error: RegExp]>([
    ['that never answers', (socket) => socket.resume(), /^ETIMEDOUT$/],
    ['that speaks no TLS', (socket) => socket.end('HTTP/1.0 400 Bad Request\r\n\r\n'), /^ERR_SSL_/],
    ['that closes in the handshake', (socket) => socket.once('data', () => socket.destroy()), /^ECONNRESET$/],
    [
      'that sends its answer one byte at a time',
      (socket) => {
        const timer = setInterval(() => socket.write(Buffer.from([0x16])), 20);
        socket.on('close', () => clearInterval(timer));
      },
      /^(ETIMEDOUT|ERR_SSL_.*)$/,
    ],
    [
      'that sends bytes without end',
      (socket) => {
        const record = Buffer.concat([Buffer.from([0x16, 3, 3, 0x40, 0]), Buffer.alloc(0x4000)]);
        const flood = () => {
          while (!socket.destroyed && socket.write(record));
        };
        socket.on('drain', flood).once('data', flood).resume();
      },
      /^(EMSGSIZE|ERR_SSL_.*|ECONNRESET|EPIPE)$/,
    ],
  ])('%s is given up', async (_title, act, error) => {
    const port = await plainServer((socket) => act(socket));
    const result = await read(local(port), hasty);
    expect('error' in result && result.error).toMatch(error);
  });

  test('with a huge certificate is given up', async () => {
    const { key, cert } = selfSigned('alpha');
    const port = await tlsServer({ key, cert: cert.toString().repeat(400) }, (socket) => socket.resume());
    expect(await read(local(port))).toHaveProperty('error');
  });

  test('that floods after the handshake is cut off after 128 KB, and its certificate is known', async () => {
    let sent = 0;
    const port = await tlsServer(selfSigned('alpha'), (socket) => {
      const flood = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(0x4000))) sent += 0x4000;
      };
      socket.on('drain', flood);
      flood();
    });
    const startedMs = performance.now();
    expect(await read(local(port))).toHaveProperty('certificate');
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    console.log(`flood after the handshake: ${Math.round(sent / 1024)} KB sent`);
  });

  test('that does not close is cut off at the deadline', async () => {
    const port = await tlsServer({ ...selfSigned('alpha') }, (socket) => {
      socket.pause();
      socket.allowHalfOpen = true;
    });
    expect(await read(local(port), hasty)).toHaveProperty('certificate');
  });
});

test('a cancelled reading ends with ECANCELED', async () => {
  const port = await plainServer(() => {});
  const result = await new Promise<HandshakeResult>((resolve) => {
    const cancel = patient.start(local(port), resolve);
    setTimeout(cancel, 20);
  });
  expect(result).toEqual({ error: 'ECANCELED' });
});

test('an address that is none, and a netns that is gone, are errors', async () => {
  expect(await read({ ...local(1), address: 'alpha' })).toEqual({ error: 'EINVAL' });
  expect(await read({ ...inNetns(1), netns: { path: '/run/netns/none', identity: '0' } })).toEqual({
    error: 'ENOENT',
  });
});
