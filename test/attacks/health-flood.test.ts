// Floods of the health port and of the admin port. A kubelet that probes from another address still gets its answers.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Flood, type FloodOptions } from '../support/flood.ts';
import { Isthmus, manifest } from '../support/isthmus.ts';
import { longForm } from '../support/long-form.ts';
import { freePort, until, WAIT_MS } from '../support/tcp.ts';

/** The timeout of a kubelet probe (timeoutSeconds: 1). */
const PROBE_MS = 1000;
/** Together they last longer than the port needs to replace all its connections many times. */
const PROBES = longForm ? 100 : 40;
/** After this many failures the remaining probes are skipped. */
const ENOUGH_FAILURES = 3;
const CONNECTIONS = 1000;
/** Enough clusters for large pages: an unread answer does not fit into the kernel's buffers. */
const CLUSTERS = 400;

type Kind = Pick<FloodOptions, 'begin' | 'trickle' | 'reads'>;
type Row = readonly [what: string, kind: Kind];

const asking = (path: string, times = 1) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(times);
const NO_END = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n';

const SILENT: Row = ['silent connections', { begin: '', trickle: '', reads: true }];
const UNREAD: Row = [
  'answers that are never read',
  { begin: asking('/metrics'), trickle: 'G', reads: false },
];
const PIPELINED: Row = [
  'requests that do not wait for answers',
  { begin: asking('/metrics', 1000), trickle: asking('/livez', 1000), reads: false },
];
const KINDS: readonly Row[] = [
  SILENT,
  ['half request lines', { begin: 'GET /liv', trickle: '', reads: true }],
  ['trickled headers', { begin: `${asking('/livez').slice(0, -2)}X: `, trickle: 'a', reads: true }],
  ['trickled bodies', { begin: NO_END, trickle: 'a', reads: true }],
  [
    'connections that are kept open after their answer',
    { begin: asking('/livez'), trickle: '', reads: true },
  ],
  ['requests without end', { begin: asking('/metrics'), trickle: asking('/metrics'), reads: true }],
  UNREAD,
  PIPELINED,
];

const isthmus = new Isthmus();
let healthPort: number;
let startedMs: number;
let flood: Flood | null = null;

beforeAll(async () => {
  startedMs = performance.now();
  healthPort = await freePort();
  for (let index = 0; index < CLUSTERS; index += 1) {
    const networkId = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    isthmus.writeManifest(`c${index}.yaml`, manifest({ name: `c${index}`, networkId, address: '10.0.0.5' }));
  }
  await isthmus.start('--health-listen', `127.0.0.1:${healthPort}`);
});
afterEach(async () => {
  await flood?.stop();
  flood = null;
});
afterAll(() => isthmus.stop());

/**
 * How long the main thread of the program could have run so far, but waited for a core. Other processes of a loaded machine cause this,
 * not the program: probes of a machine with free cores do not wait. It was up to 2.5 s of 2.9 s at a load of 25 on two cores.
 */
function waitedForCoreMs(): number {
  const [, waitedNs] = readFileSync(`/proc/${isthmus.pid}/task/${isthmus.pid}/schedstat`, 'utf8').split(' ');
  return Number(waitedNs) / 1e6;
}

/** Probes over a new connection, as a kubelet does. Resolves with the failure, or with null. */
async function probe(port: number): Promise<string | null> {
  const [startedAtMs, waitedMs] = [performance.now(), waitedForCoreMs()];
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' });
  let said = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    said += text;
  });
  socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${WAIT_MS} ms`)), WAIT_MS);
  try {
    await once(socket, 'end');
    const tookMs = performance.now() - startedAtMs - (waitedForCoreMs() - waitedMs);
    if (tookMs > PROBE_MS) return `no answer within ${PROBE_MS} ms: it took ${Math.round(tookMs)} ms`;
    return /^HTTP\/1\.1 200 [\s\S]*ok\n/.test(said) ? null : `answered: ${said}`;
  } catch (error) {
    return String(error);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function failedProbes(port: number): Promise<string[]> {
  const failed: string[] = [];
  for (let count = 0; count < PROBES && failed.length < ENOUGH_FAILURES; count += 1) {
    const trouble = await probe(port);
    if (trouble !== null) failed.push(trouble);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return failed;
}

async function evicted(port: 'admin' | 'health'): Promise<number> {
  const { body } = await isthmus.get('/metrics');
  const [, count] =
    new RegExp(`^isthmus_admin_connections_evicted_total{port="${port}"} (\\d+)$`, 'm').exec(body) ?? [];
  return Number(count);
}

test('without a flood, no probe of either port fails', async () => {
  expect(await failedProbes(healthPort)).toEqual([]);
  expect(await failedProbes(isthmus.adminPort)).toEqual([]);
});

describe(`${CONNECTIONS} connections to the health port`, () => {
  test.each(KINDS)('from one address, %s, fail no probe', async (_what, kind) => {
    flood = await Flood.start({ port: healthPort, connections: CONNECTIONS, sources: 1, ...kind });
    expect(await failedProbes(healthPort)).toEqual([]);
    expect(await flood.opened()).toBeGreaterThan(CONNECTIONS);
  });

  test.each([SILENT, UNREAD, PIPELINED])('from 50 addresses, %s, fail no probe', async (_what, kind) => {
    flood = await Flood.start({ port: healthPort, connections: CONNECTIONS, sources: 50, ...kind });
    expect(await failedProbes(healthPort)).toEqual([]);
  });

  test('are counted when they are evicted, and a few log lines name their address', async () => {
    const before = await evicted('health');
    flood = await Flood.start({ port: healthPort, connections: CONNECTIONS, sources: 1, ...SILENT[1] });
    await until('some are evicted', async () => (await evicted('health')) > before + CONNECTIONS);
    expect(await evicted('admin')).toBe(0);
    expect((await isthmus.get('/explain/c0')).body.replaceAll(/\s+/g, ' ')).toMatch(
      /\d+ since \S+ \(evicted-health\): connections to the health port were evicted/,
    );
    const lines = isthmus.log.filter(
      ({ msg, port }) => msg === 'port is full: connections evicted' && port === 'health',
    );
    expect(lines[0]).toMatchObject({ level: 'warn', port: 'health', source: '127.1.0.1' });
    // At most one line in ten seconds.
    expect(lines.length).toBeLessThanOrEqual(1 + (performance.now() - startedMs) / 10_000);
  });
});

describe(`${CONNECTIONS} connections to the admin port`, () => {
  const ASKING: Row = [
    'answers with all clusters that are never read',
    { ...UNREAD[1], begin: asking('/status') },
  ];
  test.each([SILENT, ASKING])('from one address, %s, fail no probe of either port', async (_what, kind) => {
    const port = isthmus.adminPort;
    flood = await Flood.start({ port, connections: CONNECTIONS, sources: 1, ...kind });
    expect(await failedProbes(port)).toEqual([]);
    expect(await failedProbes(healthPort)).toEqual([]);
  });
});
