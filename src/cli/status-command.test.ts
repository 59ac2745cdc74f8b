import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { tcpServer } from '../../test/support/tcp.ts';
import { type AdminPage, AdminServer } from '../telemetry/admin/admin-server.ts';
import { NO_TRAFFIC } from '../telemetry/metrics/traffic.ts';
import type { ClusterView, StatusView } from '../telemetry/status/status.ts';
import { statusText } from '../telemetry/status/status-text.ts';
import { showStatus } from './status-command.ts';

const show = (args: readonly string[]) => showStatus(args, process.env);

const CLUSTER: ClusterView = {
  name: 'kube',
  namespace: 'magnum-system',
  origin: 'a.yaml',
  state: 'serving',
  reason: 'healthy',
  serverNames: [],
  netns: 'qdhcp-1',
  backend: '10.0.0.5:6443',
  lastProbe: null,
  connections: 3,
  traffic: NO_TRAFFIC,
  backends: [],
};
const STATUS: StatusView = {
  instance: 'node-1',
  version: '0.1.0',
  startedAt: '2026-01-02T03:04:05.678Z',
  uptimeSeconds: 60,
  listen: '0.0.0.0:6443',
  ready: true,
  notReadyBecause: null,
  connections: 3,
  pendingDials: 0,
  pressure: {},
  traffic: NO_TRAFFIC,
  kubernetes: null,
  control: { stalledSince: null, lagMs: 0.4, probesAt: null },
  clusters: [
    CLUSTER,
    {
      ...CLUSTER,
      name: 'a-long-name',
      state: 'no-netns',
      reason: 'no netns here',
      backend: null,
      netns: null,
    },
  ],
  problems: [{ origin: 'b.yaml', reason: 'not YAML' }],
  listeners: [],
};
const TEXT = `isthmus 0.1.0 on node-1, listening on 0.0.0.0:6443: ready
2 clusters, 3 open connections
  kube         serving      10.0.0.5:6443 in qdhcp-1, 3 connections
  a-long-name  no-netns     no netns here
  ! b.yaml: not YAML
`;

let page: AdminPage;
let server: AdminServer;
let port: number;
let out: string;
let err: string;

beforeEach(async () => {
  [out, err] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
  vi.stubEnv('ISTHMUS_ADMIN', undefined);
  page = { status: 200, type: 'json', body: JSON.stringify(STATUS) };
  server = new AdminServer({ '/status': () => page });
  ({ port } = await server.listen({ host: '127.0.0.1', port: 0 }));
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await server.close();
});

describe('a proxy that is ready: exit code 0', () => {
  test.each<[title: string, args: (port: number) => string[]]>([
    ['by address and port', (there) => ['--admin', `127.0.0.1:${there}`]],
    ['by port alone', (there) => ['--admin', String(there)]],
    ['in one word', (there) => [`--admin=${there}`]],
    ['by name', (there) => ['--admin', `localhost:${there}`]],
  ])('asked %s', async (_title, args) => {
    expect(await show(args(port))).toBe(0);
    expect([out, err]).toEqual([TEXT, '']);
  });

  test('asked by the variable', async () => {
    vi.stubEnv('ISTHMUS_ADMIN', `127.0.0.1:${port}`);
    expect(await show([])).toBe(0);
    expect(out).toBe(TEXT);
  });

  test('the flag wins over the variable', async () => {
    vi.stubEnv('ISTHMUS_ADMIN', 'nonsense');
    expect(await show(['--admin', String(port)])).toBe(0);
  });

  test.each([
    ['--json', '--admin'],
    ['--admin', '--json'],
  ])('%s before %s prints the complete status as JSON', async (first) => {
    const where = ['--admin', String(port)];
    expect(await show(first === '--json' ? ['--json', ...where] : [...where, '--json'])).toBe(0);
    expect(JSON.parse(out)).toEqual(STATUS);
  });
});

describe('no proxy that is ready: exit code 1', () => {
  test.each<[title: string, json: boolean]>([
    ['as text', false],
    ['as JSON', true],
  ])('a proxy that reports that it is not ready, %s', async (_title, json) => {
    page = { ...page, body: JSON.stringify({ ...STATUS, ready: false, notReadyBecause: 'draining' }) };
    expect(await show(['--admin', String(port), ...(json ? ['--json'] : [])])).toBe(1);
    expect(out).toContain('draining');
    expect(err).toBe('');
  });

  test.each<[title: string, page: Partial<AdminPage>]>([
    ['text', { body: 'hello' }],
    ['nothing', { body: '' }],
    ['JSON that is no status', { body: '{}' }],
    ['null', { body: 'null' }],
    ['an error', { status: 500, body: 'Error: boom' }],
  ])('another program that answers with %s', async (_title, answer) => {
    page = { ...page, ...answer };
    expect(await show(['--admin', String(port)])).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(
      new RegExp(
        `^no proxy answers at 127\\.0\\.0\\.1:${port} \\(.+\\); is it running\\? --admin names its port\\n$`,
      ),
    );
  });

  test('another program that closes without an answer', async () => {
    const rude = await tcpServer((socket) => socket.destroy());
    expect(await show(['--admin', String(rude.port)])).toBe(1);
    expect(err).toMatch(/^no proxy answers at /);
    await rude.close();
  });

  test.each<[address: (port: number) => string, shown: (port: number) => string]>([
    [(there) => `127.0.0.1:${there}`, (there) => `127.0.0.1:${there} (connect ECONNREFUSED`],
    [(there) => `[::1]:${there}`, (there) => `[::1]:${there} (connect E`],
  ])('no program listens there', async (address, shown) => {
    await server.close();
    expect(await show(['--admin', address(port)])).toBe(1);
    expect(err).toContain(`no proxy answers at ${shown(port)}`);
  });
});

describe('invalid arguments: exit code 2', () => {
  test.each([
    [['now']],
    [['--admin']],
    [['--admin', '1', 'more']],
    [['--admin=1', '--admin=2']],
    [['--port', '1']],
    [['1', '--admin']],
  ])('%j', async (args) => {
    expect(await show(args)).toBe(2);
    expect([out, err]).toEqual(['', 'isthmus status takes --admin <addr:port> and --json, nothing else\n']);
  });

  test.each<[where: string, args: string[], variable: string | undefined]>([
    ['--admin', ['--admin', 'nonsense'], undefined],
    ['--admin', ['--admin=nonsense'], '1'],
    ['ISTHMUS_ADMIN', [], 'nonsense'],
  ])('an address that is none in %s', async (where, args, variable) => {
    vi.stubEnv('ISTHMUS_ADMIN', variable);
    expect(await show(args)).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(`  ${where}: "nonsense" is not valid. Use a port or <address>:<port>`);
  });
});

test.each<[title: string, parts: Partial<StatusView>, first: string]>([
  ['is ready', {}, 'isthmus 0.1.0 on node-1, listening on 0.0.0.0:6443: ready'],
  [
    'starts',
    { ready: false, notReadyBecause: 'starting', listen: null },
    'isthmus 0.1.0 on node-1, listening on nothing yet: not ready: starting',
  ],
  [
    'does not say why',
    { ready: false },
    'isthmus 0.1.0 on node-1, listening on 0.0.0.0:6443: not ready: unknown',
  ],
])('the first line of a proxy that %s', (_title, parts, first) => {
  expect(statusText({ ...STATUS, ...parts }).split('\n')[0]).toBe(first);
});

test('a control loop that does not answer is named before its last known states', () => {
  const control = { stalledSince: '2026-01-02T03:04:05.678Z', lagMs: 6000, probesAt: null };
  expect(statusText({ ...STATUS, control }).split('\n')[2]).toContain('2026-01-02T03:04:05.678Z');
  expect(statusText(STATUS)).not.toContain('answered');
});
