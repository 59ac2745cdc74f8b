// DNS rebinding: a page of a foreign site whose name resolves to the admin port must not read that port. The health port answers under any
// name and exposes nothing about a tenant's network.
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Isthmus, mainScript, manifest } from '../support/isthmus.ts';
import { ip, makeNetns } from '../support/network/netns.ts';
import { freePort, readAll } from '../support/tcp.ts';

const NETWORK = '0f1e2d3c-4b5a-4968-8776-655443322110';
const ADDRESS = '10.0.0.5';
const isthmus = new Isthmus();
let netns: ReturnType<typeof makeNetns>;
let healthPort: number;

beforeAll(async () => {
  netns = makeNetns({ name: `qdhcp-${NETWORK}`, addresses: [`${ADDRESS}/32`] });
  isthmus.writeManifest('a.yaml', manifest({ name: 'alpha', networkId: NETWORK, address: ADDRESS }));
  healthPort = await freePort();
  await isthmus.start('--health-listen', `127.0.0.1:${healthPort}`);
});
afterAll(async () => {
  await isthmus.stop();
  netns.remove();
});

/** The raw answer to these bytes. */
async function said(port: number, head: string, host = '127.0.0.1'): Promise<string> {
  const socket = connect({ port, host, allowHalfOpen: true });
  // The socket is not half-closed. A server can treat a half-close as the end of the client and send no answer for that reason.
  socket.write(`${head}\r\nConnection: close\r\n\r\n`);
  const { bytes } = await readAll(socket);
  socket.destroy();
  return bytes.toString();
}

const PATHS = ['/status', '/explain/alpha', '/metrics', '/livez', '/nothing'];
const FOREIGN = [
  'evil.example',
  `evil.example:9580`,
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1@evil',
  '2130706433',
  '0x7f.1',
  '10.0.0.5',
  '[::2]:9580',
];

describe('the admin port', () => {
  test.each(FOREIGN)('refuses every page to a request for %s', async (host) => {
    for (const path of PATHS) {
      const answer = await said(isthmus.adminPort, `GET ${path} HTTP/1.1\r\nHost: ${host}`);
      expect(answer).toMatch(/^HTTP\/1\.1 421 Misdirected Request\r\n/);
      expect(answer).toContain('use localhost, a loopback address or the address of --admin, with any port');
      expect(answer).not.toMatch(/alpha|qdhcp|access-control/i);
    }
  });

  test.each([
    ['two Hosts', 'GET /status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example', 421],
    [
      'two Hosts, the foreign one first',
      'GET /status HTTP/1.1\r\nHost: evil.example\r\nhost: localhost',
      421,
    ],
    ['no Host', 'GET /status HTTP/1.1\r\nX-Host: localhost', 400],
    ['no Host, as HTTP/1.0 may', 'GET /status HTTP/1.0\r\nX-Host: localhost', 421],
    ['an empty Host', 'GET /status HTTP/1.1\r\nHost:', 421],
    ['a folded Host', 'GET /status HTTP/1.1\r\nHost: localhost\r\n .evil.example', 400],
    ['an absolute target', 'GET http://evil.example/status HTTP/1.1\r\nHost: localhost', 421],
    ['another method', 'POST /status HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0', 421],
    [
      'an upgrade',
      'GET /status HTTP/1.1\r\nHost: evil.example\r\nConnection: upgrade\r\nUpgrade: websocket',
      421,
    ],
    ['a page of another site', 'GET /status HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example', 403],
    ['a page without a site', 'GET /status HTTP/1.1\r\nHost: localhost\r\nOrigin: null', 403],
  ])('refuses a request with %s', async (_what, head, status) => {
    const answer = await said(isthmus.adminPort, head);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).not.toMatch(/alpha|qdhcp|access-control/i);
  });

  test.each(['localhost', 'LocalHost:8080', 'localhost.', '127.0.0.1:1', '127.9.9.9', '[::1]:9580'])(
    'answers a request for %s, the Host of a port-forward',
    async (host) => {
      const answer = await said(isthmus.adminPort, `GET /status HTTP/1.1\r\nHost: ${host}`);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(answer).toContain('"alpha"');
      expect(answer).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
      expect(answer).not.toMatch(/access-control/i);
    },
  );

  test.each(['127.0.0.1:', 'localhost:', '', '*:', '0.0.0.0:'])(
    'answers the CLI commands that run with --admin %s<port>',
    (address) => {
      const admin = `--admin=${address}${isthmus.adminPort}`;
      for (const command of [
        ['status', '--json'],
        ['explain', 'alpha'],
        ['top', '--once'],
      ]) {
        const { stdout, stderr } = spawnSync(process.execPath, [mainScript, ...command, admin], {
          encoding: 'utf8',
          timeout: 120_000,
        });
        expect(`${stdout}${stderr}`).toContain('alpha');
      }
    },
  );
});

describe('an admin port on all addresses', () => {
  const OWN = '192.0.2.9';
  const everywhere = new Isthmus();
  beforeAll(async () => {
    ip('address', 'add', `${OWN}/32`, 'dev', 'lo');
    everywhere.admin = '0.0.0.0:0';
    await everywhere.start();
  });
  afterAll(() => everywhere.stop());

  test.each([
    [OWN, OWN, 200],
    [OWN, `${OWN}:8080`, 200],
    [OWN, 'localhost', 200],
    ['127.0.0.1', '0.0.0.0', 200],
    ['127.0.0.1', OWN, 421],
    [OWN, '192.0.2.10', 421],
    [OWN, 'evil.example', 421],
    ['127.0.0.1', 'evil.example', 421],
  ])('answers a connection to %s that asks for %s with %i', async (address, host, status) => {
    const answer = await said(everywhere.adminPort, `GET /status HTTP/1.1\r\nHost: ${host}`, address);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});

describe('the health port', () => {
  test.each([...FOREIGN, 'isthmus.magnum-system.svc:9581'])('answers a request for %s', async (host) => {
    for (const path of ['/livez', '/readyz', '/metrics']) {
      const answer = await said(healthPort, `GET ${path} HTTP/1.1\r\nHost: ${host}`);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }
  });

  test('exposes neither a netns nor an address of a tenant', async () => {
    await isthmus.untilState('alpha', 'unhealthy');
    const answer = await said(healthPort, 'GET /metrics HTTP/1.1\r\nHost: isthmus');
    expect(answer).toMatch(/^isthmus_backend_up\{namespace="magnum-system",cluster="alpha"\} 0$/m);
    expect(answer).not.toMatch(/netns=|qdhcp|10\.0\.0\.5/);
    expect(answer).not.toContain(NETWORK);
  });

  test.each(['/status', '/explain/alpha'])('has no page %s', async (path) => {
    const answer = await said(healthPort, `GET ${path} HTTP/1.1\r\nHost: localhost`);
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).not.toContain('alpha');
  });
});
