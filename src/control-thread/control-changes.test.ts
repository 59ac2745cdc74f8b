import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settledResult } from '../control/settled-result.ts';
import type { TurnResult } from '../control/turn-result.ts';
import { type Backend, backendKey, type Route, routeTable } from '../routing/route-table.ts';
import { changedDesired, desiredChanges, NOTHING_DESIRED } from './control-changes.ts';

/** A small set of clusters: number, count of backends, and state. */
interface Cluster {
  readonly number: number;
  readonly backends: number;
  readonly reason: string;
}

function backendOf(cluster: number, index: number): Backend {
  const netns = { path: `/run/netns/qdhcp-${cluster}-${index}`, identity: 'cookie:7' };
  const where = { address: '10.0.0.5', port: 6443, netns };
  return { key: backendKey(where), ...where };
}

const pooled = (number: number, route: Route): Route => ({
  ...route,
  pool: { listener: `ns/l${number}`, allowedCidrs: [] },
});

function desired(clusters: readonly Cluster[], problems: readonly string[], byDefault: number): TurnResult {
  const routes = new Map<number, Route>();
  for (const { number, backends } of clusters) {
    const found = Array.from({ length: backends }, (_, index) => backendOf(number, index));
    routes.set(number, { cluster: `c${number}`, namespace: 'ns', backends: found });
  }
  const names = (number: number) => [`c${number}`, `c${number}.ns`];
  return {
    complete: problems.length === 0,
    routes: routeTable(
      Array.from(routes).flatMap(([number, route]) => [
        { serverNames: names(number), route },
        { serverNames: [`l${number}`, `l${number}.ns`], route: pooled(number, route) },
      ]),
      routes.get(byDefault) ?? null,
    ),
    clusters: clusters.map(({ number, backends, reason }) => ({
      name: `c${number}`,
      namespace: 'ns',
      origin: `${number}.yaml`,
      state: 'serving',
      reason,
      serverNames: names(number),
      backends: Array.from({ length: backends }, (_, index) => {
        const { key, address, port } = backendOf(number, index);
        return { key, address, port, netns: `qdhcp-${number}-${index}`, up: true };
      }),
    })),
    backends: [...routes.values()].flatMap(({ backends, cluster }) =>
      backends.map((backend) => ({ ...backend, serverName: cluster })),
    ),
    problems: problems.map((origin) => ({ origin, reason: 'broken' })),
    ports: Array.from(routes, ([number, route]) => ({
      name: `ns/l${number}`,
      preferredPort: number,
      route: pooled(number, route),
    })),
    heldPorts: byDefault > 5 ? [] : [byDefault, 17_000],
    listeners: clusters.map(({ number, backends, reason }) => ({
      name: `l${number}`,
      namespace: 'ns',
      cluster: `c${number}`,
      protocol: 'TCP' as const,
      port: 22,
      targetPort: 22,
      service: `c${number}-l${number}`,
      listenPort: null,
      serverNames: [],
      state: 'serving' as const,
      reason,
      detail: null,
      members: Array.from({ length: backends }, (_, index) => {
        const { key, address } = backendOf(number, index);
        const state = 'Ready' as const;
        return { machine: `m${index}`, key, address, netns: null, state, up: true, reason: `${index % 2}` };
      }),
    })),
  };
}

const states = fc.array(
  fc
    .tuple(
      fc.uniqueArray(
        fc.record({
          number: fc.integer({ min: 0, max: 5 }),
          backends: fc.integer({ min: 0, max: 3 }),
          reason: fc.constantFrom('well', 'slow'),
        }),
        { selector: ({ number }) => number },
      ),
      fc.uniqueArray(fc.constantFrom('a.yaml', 'b.yaml')),
      fc.integer({ min: 0, max: 7 }),
    )
    .map((parts) => desired(...parts)),
  { maxLength: 6 },
);

const isFrozen = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return true;
  if (value instanceof Map) return [...value.values()].every(isFrozen); // a Map cannot be frozen: it is typed as read-only
  return Object.isFrozen(value) && Object.values(value).every(isFrozen);
};

/** Yields each sent state with the state that the main thread rebuilds from the changes. */
function* transferred(
  following: readonly TurnResult[],
): Generator<{ sent: TurnResult; arrived: TurnResult }> {
  let sent = NOTHING_DESIRED;
  let arrived = NOTHING_DESIRED;
  for (const each of following) {
    const next = settledResult(sent, each);
    arrived = changedDesired(arrived, structuredClone(desiredChanges(sent, next)));
    sent = next;
    yield { sent, arrived };
  }
}

describe('the received state', () => {
  test('equals the sent state for any state before, and is deeply frozen', () => {
    fc.assert(
      fc.property(states, (following) => {
        for (const { sent, arrived } of transferred(following)) {
          expect(arrived).toEqual(sent);
          expect([isFrozen(arrived), isFrozen(structuredClone(arrived))]).toEqual([true, false]);
        }
      }),
    );
  });

  test('contains every unchanged part as the same object', () => {
    fc.assert(
      fc.property(states, (following) => {
        let before: { sent: TurnResult; arrived: TurnResult } | null = null;
        for (const now of transferred(following)) {
          const lists = ['clusters', 'backends', 'problems', 'ports', 'heldPorts', 'listeners'] as const;
          for (const part of ['routes', ...lists] as const) {
            if (before?.sent[part] === now.sent[part]) expect(now.arrived[part]).toBe(before.arrived[part]);
          }
          for (const [name, route] of now.sent.routes.byServerName) {
            const [was, is] = [before, now].map((each) => each?.arrived.routes.byServerName.get(name));
            if (before?.sent.routes.byServerName.get(name) === route) expect(is).toBe(was);
            // In a changed route, unchanged backends keep their identity, so the engine sees no change of them.
            for (const backend of is?.backends ?? []) {
              const old = was?.backends.find(({ key }) => key === backend.key);
              if (old !== undefined) expect(backend).toBe(old);
            }
          }
          before = now;
        }
      }),
    );
  });
});

describe('the message', () => {
  const a = { number: 1, backends: 1, reason: 'well' };
  const b = { number: 2, backends: 1, reason: 'well' };

  test('contains only the one changed cluster of many', () => {
    const before = desired([a, b], [], 9);
    const after = settledResult(before, desired([a, { ...b, reason: 'slow', backends: 0 }], [], 9));
    expect(desiredChanges(before, after)).toEqual({
      complete: true,
      routes: {
        set: [
          { serverNames: ['c2', 'c2.ns'], route: expect.objectContaining({ backends: [] }) },
          { serverNames: ['l2', 'l2.ns'], route: expect.objectContaining({ backends: [] }), pool: [] },
        ],
        removed: [],
      },
      clusters: [0, expect.objectContaining({ name: 'c2', reason: 'slow' })],
      backends: [0],
      ports: [0, { was: 1, item: expect.objectContaining({ name: 'ns/l2' }), parts: [] }],
      listeners: [0, { was: 1, item: expect.objectContaining({ name: 'l2', reason: 'slow' }), parts: [] }],
    });
  });

  test('contains no routes when only a reason changed', () => {
    const before = desired([a, b], [], 1);
    const after = settledResult(before, desired([a, { ...b, reason: 'slow' }], [], 1));
    expect(Object.keys(desiredChanges(before, after))).toEqual(['complete', 'clusters', 'listeners']);
  });

  test('contains only the new member of a pool of thousands, and the indexes of the others', () => {
    const before = desired([{ ...a, backends: 3 }], [], 9);
    const after = settledResult(before, desired([{ ...a, backends: 4 }], [], 9));
    const { routes, ports, listeners } = desiredChanges(before, after);
    const came = expect.objectContaining({ key: backendOf(1, 3).key });
    expect(routes?.set.find(({ serverNames }) => serverNames[0] === 'l1')?.pool).toEqual([0, 1, 2, came]);
    expect(ports).toMatchObject([{ was: 0, parts: [0, 1, 2, came], item: { route: { backends: [] } } }]);
    expect(listeners).toMatchObject([{ was: 0, parts: [0, 1, 2, { machine: 'm3' }], item: { members: [] } }]);
  });
});

test('an index outside the previous list is a bug and throws', () => {
  expect(() => changedDesired(NOTHING_DESIRED, { complete: true, clusters: [3] })).toThrow(
    'no item 3 in a list of 0',
  );
});
