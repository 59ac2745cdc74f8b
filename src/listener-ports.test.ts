import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ListenerPorts } from './listener-ports.ts';
import type { ListenerSpec } from './proxy/engine.ts';
import type { PortOutcome, PortRoute, Route } from './routing/route-table.ts';

const HOST = '192.0.2.1';
const routeTo = (address: string): Route => ({
  cluster: 'kube',
  namespace: 'ns',
  backends: [{ key: address, address, port: 22, netns: null }],
});
const portRoute = (
  name: string,
  preferredPort: number | null = null,
  route = routeTo('10.0.0.5'),
): PortRoute => ({
  name: `ns/${name}`,
  preferredPort,
  route,
});

/** An engine that opens no sockets: its ports are only numbers. */
class FakeEngine {
  readonly specs = new Map<number, ListenerSpec>();
  /** By port: the error code with which it fails to open. */
  readonly errors = new Map<number, string>();
  attempts = 0;

  async openListener(spec: ListenerSpec) {
    this.attempts += 1;
    await Promise.resolve();
    // In this engine the descriptor of a socket is the number of its port.
    if (spec.fd !== undefined) return this.#opened(spec, spec.fd);
    const code = this.specs.has(spec.port) ? 'EADDRINUSE' : this.errors.get(spec.port);
    if (code !== undefined) throw Object.assign(new Error(`listen ${code}`), { code });
    return this.#opened(spec, spec.port);
  }

  #opened(spec: ListenerSpec, port: number) {
    this.specs.set(port, spec);
    return {
      name: spec.name,
      address: HOST,
      port,
      fd: port,
      prepare: () => {},
      close: async () => void this.specs.delete(port),
    };
  }

  get open(): Record<string, number> {
    return Object.fromEntries(Array.from(this.specs, ([port, { name }]) => [name, port]));
  }
}

let engine: FakeEngine;
let reports: Record<string, PortOutcome>[];
let routes: Map<string, () => Route>;
let ports: ListenerPorts;
/** By name: the sockets that the predecessor handed over. */
let handedOver: Map<string, number>;

function make(range: { from: number; to: number } | null, retryMs = 60_000): void {
  ports = new ListenerPorts({
    engine,
    host: HOST,
    range,
    retryMs,
    policyOf: (route) => {
      const policy = { decide: () => ({ kind: 'close', note: null }) as const, dialFailed() {}, ended() {} };
      routes.set(`${routes.size}`, route);
      return policy;
    },
    report: (outcomes) => reports.push(Object.fromEntries(outcomes)),
    inherited: (name, _range, except) => {
      const fd = handedOver.get(name);
      if (fd !== undefined && except.has(fd)) return undefined;
      handedOver.delete(name);
      return fd;
    },
  });
}
beforeEach(() => {
  engine = new FakeEngine();
  reports = [];
  routes = new Map();
  handedOver = new Map();
  make({ from: 100, to: 103 });
});
afterEach(() => void vi.useRealTimers());
/** Resolves when all passes that are due are done. */
const settled = async () => {
  for (let i = 0; i < 50; i += 1) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
};
const want = async (...wanted: PortRoute[]) => {
  ports.want(wanted, []);
  await settled();
};
const isOpen = (port: number) => ({ kind: 'open', port });

test('each listener gets its own port on the address of --listen, and its policy decides before the first byte', async () => {
  await want(portRoute('a'), portRoute('b'));
  expect(engine.open).toEqual({ 'listener:ns/a': 100, 'listener:ns/b': 101 });
  expect(engine.specs.get(100)).toMatchObject({ host: HOST, mode: 'immediate' });
  expect(reports).toEqual([{ 'ns/a': isOpen(100), 'ns/b': isOpen(101) }]);
});

test('a listener gets its previous port back although other listeners exist', async () => {
  await want(portRoute('a'), portRoute('b', 100), portRoute('c', 103));
  expect(engine.open).toEqual({ 'listener:ns/b': 100, 'listener:ns/a': 101, 'listener:ns/c': 103 });
});

test('a socket that the predecessor handed over is used first, and only once', async () => {
  handedOver.set('listener:ns/b', 102);
  await want(portRoute('a', 101), portRoute('b', 101));
  await ports.settled();
  expect(engine.open).toEqual({ 'listener:ns/a': 101, 'listener:ns/b': 102 });
  await want();
  await want(portRoute('b'));
  expect(engine.open).toEqual({ 'listener:ns/b': 100 });
});

test.each([
  ['is outside the range', 99],
  ['is busy', 101],
])('a listener whose previous port %s gets a free port', async (_title, preferred) => {
  engine.errors.set(101, 'EADDRINUSE');
  await want(portRoute('a', preferred));
  expect(reports).toEqual([{ 'ns/a': isOpen(100) }]);
});

test('of two listeners with the same previous port, the first by name gets it', async () => {
  await want(portRoute('a', 102), portRoute('b', 102));
  expect(engine.open).toEqual({ 'listener:ns/a': 102, 'listener:ns/b': 100 });
});

test('a port stays open when its route changes, and uses the new route at once', async () => {
  await want(portRoute('a', null, routeTo('10.0.0.5')));
  const spec = engine.specs.get(100);
  ports.want([portRoute('a', 103, routeTo('10.0.0.6'))], []);
  expect(routes.get('0')?.().backends[0]?.address).toBe('10.0.0.6'); // before the next pass
  await settled();
  expect(engine.specs.get(100)).toBe(spec);
  expect(engine.attempts).toBe(1);
  expect(reports).toHaveLength(1); // the outcome is unchanged
});

test('a listener that is no longer wanted is closed and reported, and the next one can get its port', async () => {
  await want(portRoute('a'), portRoute('b'));
  await want(portRoute('b'));
  expect(engine.open).toEqual({ 'listener:ns/b': 101 });
  expect(reports.at(-1)).toEqual({ 'ns/b': isOpen(101) });
  expect(routes.get('0')?.().backends).toHaveLength(1); // for connections that were accepted earlier
  await want(portRoute('b'), portRoute('c'));
  expect(reports.at(-1)).toEqual({ 'ns/b': isOpen(101), 'ns/c': isOpen(100) });
});

test('when the range is full, open ports stay and each further listener gets a reason until a port is free', async () => {
  engine.errors.set(102, 'EADDRINUSE');
  await want(...['a', 'b', 'c', 'd'].map((name) => portRoute(name)));
  expect(engine.open).toEqual({ 'listener:ns/a': 100, 'listener:ns/b': 101, 'listener:ns/c': 103 });
  expect(reports.at(-1)?.['ns/d']).toEqual({
    kind: 'failed',
    reason:
      'no port of --listener-ports 100-103 is free: 3 taken by other listeners, 1 by other programs or not permitted',
  });
  await want(portRoute('b'), portRoute('c'), portRoute('d'));
  expect(reports.at(-1)?.['ns/d']).toEqual(isOpen(100));
});

test('a port that slices of a listener may still name goes to no other listener', async () => {
  ports.want([portRoute('a'), portRoute('b', 102), portRoute('c')], [100, 102, 9000]);
  await settled();
  expect(engine.open).toEqual({ 'listener:ns/a': 101, 'listener:ns/b': 102, 'listener:ns/c': 103 });
  ports.want([portRoute('a'), portRoute('c'), portRoute('d')], [100, 102, 9000]);
  await settled();
  expect(reports.at(-1)?.['ns/d']).toEqual({
    kind: 'failed',
    reason:
      'no port of --listener-ports 100-103 is free: 2 taken by other listeners, 0 by other programs or not permitted, ' +
      '2 that clients of another listener may still be sent to',
  });
  ports.want([portRoute('a'), portRoute('c'), portRoute('d')], [100]);
  await settled();
  expect(reports.at(-1)?.['ns/d']).toEqual(isOpen(102));
});

test('a socket of the predecessor is not used for a listener that did not have its port before', async () => {
  handedOver.set('listener:ns/a', 100).set('listener:ns/b', 102).set('listener:ns/c', 103);
  ports.want([portRoute('a'), portRoute('b', 102), portRoute('c', 101)], [100, 101, 102]);
  await settled();
  expect(engine.open).toEqual({ 'listener:ns/b': 102, 'listener:ns/c': 103 });
  expect(Array.from(engine.specs.values(), ({ fd }) => fd)).toEqual([102, 103]);
});

test('a port that failed to open is tried again after the retry time, until it is open', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  make({ from: 100, to: 100 }, 5000);
  engine.errors.set(100, 'EADDRINUSE');
  await want(portRoute('a'));
  expect(reports).toEqual([{ 'ns/a': expect.objectContaining({ kind: 'failed' }) }]);
  vi.advanceTimersByTime(4999);
  await settled();
  expect(engine.attempts).toBe(1);
  engine.errors.clear();
  vi.advanceTimersByTime(1);
  await settled();
  expect(reports.at(-1)?.['ns/a']).toEqual(isOpen(100));
  expect(vi.getTimerCount()).toBe(0);
});

test('an error that is not about one port is reported after the first attempt', async () => {
  for (let port = 100; port <= 103; port += 1) engine.errors.set(port, 'EMFILE');
  await want(portRoute('a'));
  expect(reports).toEqual([{ 'ns/a': { kind: 'failed', reason: 'port 100 cannot be opened (EMFILE)' } }]);
  expect(engine.attempts).toBe(1);
});

test('without a port range every listener gets a reason, and no port is tried', async () => {
  make(null);
  await want(portRoute('a', 100));
  expect(reports).toEqual([
    {
      'ns/a': {
        kind: 'failed',
        reason: 'this instance has no ports for TCP listeners: --listener-ports is empty',
      },
    },
  ]);
  expect(engine.attempts).toBe(0);
});

describe('while a port is being opened', () => {
  test('changes wait for the end of the pass, and only the last one counts', async () => {
    ports.want([portRoute('a', null, routeTo('10.0.0.5'))], []);
    ports.want([portRoute('a', null, routeTo('10.0.0.6')), portRoute('b')], []);
    ports.want([portRoute('a', null, routeTo('10.0.0.7'))], []);
    await settled();
    expect(engine.open).toEqual({ 'listener:ns/a': 100 });
    expect(routes.get('0')?.().backends[0]?.address).toBe('10.0.0.7');
  });

  test('a stop ends the pass: no further port is opened or reported', async () => {
    ports.want([portRoute('a'), portRoute('b')], []);
    await ports.stop();
    await want(portRoute('c'));
    expect(Object.keys(engine.open).length).toBeLessThanOrEqual(1);
    expect(reports).toEqual([]);
  });
});

test('without wanted listeners there is no report', async () => {
  await want();
  expect(reports).toEqual([]);
});
