import { beforeEach, describe, expect, test } from 'vitest';
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

/** An engine in which ports are only numbers. */
class FakeEngine {
  readonly specs = new Map<number, ListenerSpec>();
  /** By port: the code with which it cannot be opened. */
  readonly errors = new Map<number, string>();
  attempts = 0;

  async openListener(spec: ListenerSpec) {
    this.attempts += 1;
    await Promise.resolve();
    // A descriptor is its port's number here.
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
let handed: Map<string, number>;

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
      const fd = handed.get(name);
      if (fd !== undefined && except.has(fd)) return undefined;
      handed.delete(name);
      return fd;
    },
  });
}
beforeEach(() => {
  engine = new FakeEngine();
  reports = [];
  routes = new Map();
  handed = new Map();
  make({ from: 100, to: 103 });
});
/** All passes that are due are done. */
const settled = async () => {
  for (let i = 0; i < 50; i += 1) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
};
const want = async (...wanted: PortRoute[]) => {
  ports.want(wanted, []);
  await settled();
};
const isOpen = (port: number) => ({ kind: 'open', port });

test('each gets a port of its own, on the address of --listen, and is decided before anything is read', async () => {
  await want(portRoute('a'), portRoute('b'));
  expect(engine.open).toEqual({ 'listener:ns/a': 100, 'listener:ns/b': 101 });
  expect(engine.specs.get(100)).toMatchObject({ host: HOST, mode: 'immediate' });
  expect(reports).toEqual([{ 'ns/a': isOpen(100), 'ns/b': isOpen(101) }]);
});

test('a listener gets its previous port back although other listeners exist', async () => {
  await want(portRoute('a'), portRoute('b', 100), portRoute('c', 103));
  expect(engine.open).toEqual({ 'listener:ns/b': 100, 'listener:ns/a': 101, 'listener:ns/c': 103 });
});

test('the socket that a predecessor handed over goes before everything else, once', async () => {
  handed.set('listener:ns/b', 102);
  await want(portRoute('a', 101), portRoute('b', 101));
  await ports.settled();
  expect(engine.open).toEqual({ 'listener:ns/a': 101, 'listener:ns/b': 102 });
  await want();
  await want(portRoute('b'));
  expect(engine.open).toEqual({ 'listener:ns/b': 100 });
});

test.each([
  ['out of the range', 99],
  ['busy', 101],
])('one that is %s is replaced by a free one', async (_title, preferred) => {
  engine.errors.set(101, 'EADDRINUSE');
  await want(portRoute('a', preferred));
  expect(reports).toEqual([{ 'ns/a': isOpen(100) }]);
});

test('two that had the same port before: the first by name has it', async () => {
  await want(portRoute('a', 102), portRoute('b', 102));
  expect(engine.open).toEqual({ 'listener:ns/a': 102, 'listener:ns/b': 100 });
});

test('a route that changes never closes its port, and is followed', async () => {
  await want(portRoute('a', null, routeTo('10.0.0.5')));
  const spec = engine.specs.get(100);
  ports.want([portRoute('a', 103, routeTo('10.0.0.6'))], []);
  expect(routes.get('0')?.().backends[0]?.address).toBe('10.0.0.6'); // at once
  await settled();
  expect(engine.specs.get(100)).toBe(spec);
  expect(engine.attempts).toBe(1);
  expect(reports).toHaveLength(1); // nothing new to say
});

test('one that is not wanted any more is closed, told, and its port is free for the next', async () => {
  await want(portRoute('a'), portRoute('b'));
  await want(portRoute('b'));
  expect(engine.open).toEqual({ 'listener:ns/b': 101 });
  expect(reports.at(-1)).toEqual({ 'ns/b': isOpen(101) });
  expect(routes.get('0')?.().backends).toHaveLength(1); // for those that were let in before
  await want(portRoute('b'), portRoute('c'));
  expect(reports.at(-1)).toEqual({ 'ns/b': isOpen(101), 'ns/c': isOpen(100) });
});

test('a full range: who is there stays, the others are told in a sentence, and get the next that is free', async () => {
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

test('a port that slices of a listener may still name is given to no other listener', async () => {
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

test('nor is it taken over from a predecessor, where it was that of another under the same name', async () => {
  handed.set('listener:ns/a', 100).set('listener:ns/b', 102).set('listener:ns/c', 103);
  ports.want([portRoute('a'), portRoute('b', 102), portRoute('c', 101)], [100, 101, 102]);
  await settled();
  expect(engine.open).toEqual({ 'listener:ns/b': 102, 'listener:ns/c': 103 });
  expect(Array.from(engine.specs.values(), ({ fd }) => fd)).toEqual([102, 103]);
});

test('what could not be opened is tried again after a while', async () => {
  make({ from: 100, to: 100 }, 5);
  engine.errors.set(100, 'EADDRINUSE');
  await want(portRoute('a'));
  expect(reports).toEqual([{ 'ns/a': expect.objectContaining({ kind: 'failed' }) }]);
  engine.errors.clear();
  await expect.poll(() => reports.at(-1)?.['ns/a']).toEqual(isOpen(100));
  const { attempts } = engine;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(engine.attempts).toBe(attempts); // all is well: nothing is tried any more
});

test('an error that every port would meet is told at once, and not looked for on all of them', async () => {
  for (let port = 100; port <= 103; port += 1) engine.errors.set(port, 'EMFILE');
  await want(portRoute('a'));
  expect(reports).toEqual([{ 'ns/a': { kind: 'failed', reason: 'port 100 cannot be opened (EMFILE)' } }]);
  expect(engine.attempts).toBe(1);
});

test('without a range there is a reason for everybody, and nothing is tried', async () => {
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

describe('what comes while a port is being opened', () => {
  test('is looked at afterwards, and only the last of it', async () => {
    ports.want([portRoute('a', null, routeTo('10.0.0.5'))], []);
    ports.want([portRoute('a', null, routeTo('10.0.0.6')), portRoute('b')], []);
    ports.want([portRoute('a', null, routeTo('10.0.0.7'))], []);
    await settled();
    expect(engine.open).toEqual({ 'listener:ns/a': 100 });
    expect(routes.get('0')?.().backends[0]?.address).toBe('10.0.0.7');
  });

  test('a stop ends it: nothing more is opened or told', async () => {
    ports.want([portRoute('a'), portRoute('b')], []);
    await ports.stop();
    await want(portRoute('c'));
    expect(Object.keys(engine.open).length).toBeLessThanOrEqual(1);
    expect(reports).toEqual([]);
  });
});

test('nothing is said where nothing is wanted', async () => {
  await want();
  expect(reports).toEqual([]);
});
