import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TargetHealth } from '../../health/target-health.ts';
import { backendKey } from '../../routing/route-table.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { settledResult } from '../settled-result.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import { type Observed, worldOf } from '../world/world.ts';
import { desiredState } from './desired-state.ts';

const SETTINGS = { namespace: 'magnum-system', defaultCluster: 'c1' };
const IDS = [1, 2, 3, 4].map((n) => `${String(n).repeat(8)}-1111-4111-8111-111111111111`);
const ADDRESSES = ['10.0.0.1', '10.0.0.2', 'fd00::1'];

// Only a few names, ids and addresses, so that they collide: conflicts, shared networks, shared backends.
const factsArbitrary = fc.record({
  object: fc.integer({ min: 1, max: 8 }),
  name: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('c1', 'c2', 'c3', 'c4') },
    { weight: 1, arbitrary: fc.string() },
  ),
  namespace: fc.constantFrom('magnum-system', 'aaa', 'zzz'),
  createdAtMs: fc.constantFrom(null, 1, 2),
  networkIds: fc.array(fc.oneof(fc.constantFrom(...IDS), fc.string()), { maxLength: 3 }),
  address: fc.constantFrom(...ADDRESSES),
  port: fc.constantFrom(6443, 443),
});
const readingArbitrary: fc.Arbitrary<ClusterReading> = fc
  .tuple(factsArbitrary, fc.constantFrom('proxied', 'proxied', 'pending', 'invalid', 'not-proxied'))
  .map(([{ object, ...rest }, kind]) => {
    const facts: ClusterFacts = { ...rest, key: `${rest.namespace}/o${object}`, origin: `${object}.yaml` };
    if (kind === 'proxied') return { kind, facts };
    const { key, name, namespace, origin, createdAtMs } = facts;
    return {
      kind,
      key,
      name,
      namespace,
      origin,
      createdAtMs: createdAtMs ?? null,
      reason: `is ${kind}`,
    } as ClusterReading;
  });
const keyOf = (reading: ClusterReading) => (reading.kind === 'proxied' ? reading.facts.key : reading.key);
const readingsArbitrary = fc.uniqueArray(readingArbitrary, { selector: keyOf, maxLength: 12 });

const netnsArbitrary = fc.uniqueArray(
  fc
    .oneof(
      fc
        .tuple(fc.constantFrom('ovnmeta-', 'qdhcp-', 'qrouter-', 'x-', ''), fc.constantFrom(...IDS))
        .map((parts) => parts.join('')),
      fc.string(),
    )
    .map((name) => ({ name, path: `/run/netns/${name}`, identity: `#${name}` })),
  { selector: ({ name }) => name, maxLength: 10 },
);
const healthArbitrary = (netns: readonly { name: string; path: string; identity: string }[]) => {
  const keys = netns.flatMap((entry) =>
    ADDRESSES.flatMap((address) => [6443, 443].map((port) => backendKey({ address, port, netns: entry }))),
  );
  return fc
    .subarray(keys)
    .map((up) => up.map((key): [string, TargetHealth] => [key, { up: true, sinceMs: 0, lastProbe: null }]));
};
const observedArbitrary: fc.Arbitrary<Observed> = fc
  .tuple(readingsArbitrary, netnsArbitrary, fc.boolean(), fc.boolean())
  .chain(([clusters, entries, sourceComplete, netnsComplete]) =>
    healthArbitrary(entries).map((health) => ({
      source: { complete: sourceComplete, clusters, problems: [] },
      netns: { complete: netnsComplete, entries, problems: [] },
      health: new Map(health),
    })),
  );

const shuffled = <T>(items: readonly T[], seed: number): T[] =>
  items
    .map((item, i): [number, T] => [Math.sin(seed + i * 7.13), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
const decide = (observed: Observed, before: Observed | null = null) =>
  desiredState(worldOf(observed, before === null ? null : worldOf(before, null)), SETTINGS, new TurnCache());

describe('the desired state', () => {
  test('does not depend on the order in which anything was observed', () => {
    fc.assert(
      fc.property(observedArbitrary, observedArbitrary, fc.integer(), (before, now, seed) => {
        const mixed: Observed = {
          source: { ...now.source, clusters: shuffled(now.source.clusters, seed) },
          netns: { ...now.netns, entries: shuffled(now.netns.entries, seed) },
          health: new Map(shuffled([...now.health], seed)),
        };
        const first = decide(now, before);
        expect(decide(mixed, before)).toEqual(first);
        expect([...decide(mixed, before).routes.byServerName.keys()]).toEqual([
          ...first.routes.byServerName.keys(),
        ]);
        expect(settledResult(first, decide(mixed, before))).toBe(first);
      }),
      { numRuns: 300 },
    );
  });

  test('is the same in the end for any order of the same events', () => {
    fc.assert(
      fc.property(readingsArbitrary, observedArbitrary, fc.integer(), (events, base, seed) => {
        const outcomeOf = (order: readonly ClusterReading[]) => {
          const objects = new Map<string, ClusterReading>();
          let world = null;
          for (const event of order) {
            objects.set(keyOf(event), event);
            world = worldOf(
              { ...base, source: { complete: true, clusters: [...objects.values()], problems: [] } },
              world,
            );
          }
          return world === null ? null : desiredState(world, SETTINGS, new TurnCache());
        };
        expect(outcomeOf(shuffled(events, seed))).toEqual(outcomeOf(events));
      }),
      { numRuns: 200 },
    );
  });

  test('routes no client to a backend that is down, not probed, or of another cluster', () => {
    fc.assert(
      fc.property(observedArbitrary, (observed) => {
        const { routes, clusters, backends } = decide(observed);
        const probed = new Set(backends.map(({ key }) => key));
        for (const [name, route] of routes.byServerName) {
          const status = clusters.find(
            ({ serverNames, ownServerNames = [], name: own, namespace }) =>
              own === route.cluster &&
              namespace === route.namespace &&
              (serverNames.includes(name) || ownServerNames.includes(name)),
          );
          expect(status).toBeDefined();
          for (const { key } of route.backends) {
            expect(observed.health.get(key)?.up).toBe(true);
            expect(probed.has(key)).toBe(true);
            expect(status?.backends.some((backend) => backend.key === key && backend.up)).toBe(true);
          }
        }
        for (const { state, backends: own } of clusters) {
          if (state === 'serving') expect(own.some(({ up }) => up)).toBe(true);
          if (state === 'no-netns' || state === 'not-proxied') expect(own).toEqual([]);
        }
        expect(clusters).toHaveLength(observed.source.clusters.length);
      }),
      { numRuns: 300 },
    );
  });

  test('does not change for the other clusters when one cluster becomes invalid', () => {
    fc.assert(
      fc.property(observedArbitrary, fc.nat(), (observed, pick) => {
        const { clusters } = observed.source;
        const names = clusters.map((reading) =>
          reading.kind === 'proxied' ? reading.facts.name : reading.name,
        );
        // Clusters with the same name affect each other by definition.
        fc.pre(clusters.length > 1 && new Set(names).size === names.length);
        const victim = clusters[pick % clusters.length]!;
        const { key, name, namespace, origin } = victim.kind === 'proxied' ? victim.facts : victim;
        const bad: ClusterReading = { kind: 'invalid', key, name, namespace, origin, reason: 'broken' };
        const spoilt = {
          ...observed,
          source: { ...observed.source, clusters: clusters.map((c) => (c === victim ? bad : c)) },
        };
        const [before, after] = [decide(observed), decide(spoilt)];
        const others = (list: typeof before.clusters) =>
          list.filter((status) => status.origin !== origin || status.name !== name);
        expect(others(after.clusters)).toEqual(others(before.clusters));
        for (const [serverName, route] of before.routes.byServerName) {
          if (route.cluster !== name) expect(after.routes.byServerName.get(serverName)).toEqual(route);
        }
      }),
      { numRuns: 300 },
    );
  });
});
