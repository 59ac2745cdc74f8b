// The cache of the loop must only save work. Three loops see the same random changes: one keeps its cache, one gets a new cache in each
// turn, and one has a cache that stores nothing.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  desiredFor,
  keyAt,
  listener,
  machine,
  NETNS,
  NETWORK,
  pendingCluster,
  type SiteFacts,
  worldFor,
} from '../../test/support/kubernetes/listeners.ts';
import { ModelApi, SETTINGS } from '../../test/support/kubernetes/model-api.ts';
import { TurnCache } from './objects/turn-cache.ts';
import { diff } from './plan/diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan/plan.ts';
import type { ClusterReading } from './sources/cluster-source.ts';
import { turnResult } from './turn-result.ts';
import type { World } from './world/world.ts';

class NoCache extends TurnCache {
  override last<A extends readonly unknown[], T>(compute: (...inputs: A) => T, ...inputs: A): T {
    return compute(...inputs);
  }

  override each<K extends object, A extends readonly unknown[], T>(
    compute: (item: K, ...inputs: A) => T,
    item: K,
    ...inputs: A
  ): T {
    return compute(item, ...inputs);
  }

  override part<T>(create: () => T): T {
    return create();
  }
}

const CLUSTERS = ['kube-1', 'kube-2', 'kube-3'];
const LISTENERS = ['ssh', 'ssh-2', 'web'];
const MACHINES = ['m-1', 'm-2', 'm-3'];
const ADDRESSES = ['10.0.0.1', '10.0.0.2'];
const OTHER_NETNS = {
  name: `ovnmeta-${NETWORK}`,
  path: `/run/netns/ovnmeta-${NETWORK}`,
  identity: 'cookie:2',
};

/** The objects are made once, as by a watch: an unchanged object is the same reference in all turns. */
const CLUSTER_READINGS: readonly (readonly ClusterReading[])[] = CLUSTERS.map((name) => [
  pendingCluster(name),
  pendingCluster(name, { kind: 'not-proxied', reason: 'it is not proxied' }),
  ...ADDRESSES.map((address): ClusterReading => {
    const { key, namespace, origin, object } = pendingCluster(name) as ClusterReading & { kind: 'pending' };
    const facts = { key, name, namespace, origin, object: object ?? null, createdAtMs: 0 };
    return {
      kind: 'proxied',
      facts: { ...facts, networkIds: [NETWORK], clusterNetworkId: NETWORK, address, port: 6443 },
    };
  }),
]);
const LISTENER_READINGS = LISTENERS.map((name) => [
  listener(name),
  listener(name, { protocol: 'TLS', targetPort: 443 }),
  listener(name, { rolloutLabels: { generation: 'blue' } }),
  listener(name, { port: 0 }),
  listener(name, {}, { deletionTimestamp: '2026-08-01T00:00:00Z' }),
]);
const MACHINE_FACTS = MACHINES.map((name) => [
  ...ADDRESSES.map((address) => machine(name, address, { role: 'worker', generation: 'blue' })),
  machine(name, ADDRESSES, { role: 'worker', generation: 'green' }),
  machine(name, [...ADDRESSES, '10.0.0.3'], { 'cluster.x-k8s.io/control-plane': '' }),
]);
const NETNS_ENTRIES = [[NETNS], [NETNS, OTHER_NETNS], []] as const;
const BACKENDS = [...ADDRESSES, '10.0.0.3'].flatMap((address) =>
  [22, 443, 6443].map((port) => keyAt(address, port)),
);

type Change =
  | { readonly what: 'cluster' | 'listener' | 'machine'; readonly which: number; readonly to: number }
  | { readonly what: 'netns' | 'complete'; readonly to: number }
  | { readonly what: 'health'; readonly key: string; readonly to: 'up' | 'down' | 'unknown' }
  | { readonly what: 'time'; readonly ms: number }
  | { readonly what: 'foreign'; readonly name: string };

const place = { which: fc.nat({ max: 2 }), to: fc.integer({ min: -1, max: 4 }) };
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ what: fc.constantFrom('cluster' as const, 'listener' as const, 'machine' as const), ...place }),
  fc.record({ what: fc.constantFrom('netns' as const, 'complete' as const), to: fc.nat({ max: 2 }) }),
  fc.record({
    what: fc.constant('health' as const),
    key: fc.constantFrom(...BACKENDS),
    to: fc.constantFrom('up' as const, 'down' as const, 'unknown' as const),
  }),
  fc.record({ what: fc.constant('time' as const), ms: fc.constantFrom(300, 6000, 400_000) }),
  fc.record({ what: fc.constant('foreign' as const), name: fc.constantFrom(...CLUSTERS, 'kube-1-ssh') }),
);

class Site {
  readonly api = new ModelApi();
  readonly #at = { cluster: [0, 0, 0], listener: [0, 0, 0], machine: [0, 0, 0] };
  readonly #health = new Map<string, 'up' | 'down' | 'unknown'>();
  #netns = 0;
  #complete = true;

  change(change: Change): void {
    switch (change.what) {
      case 'health':
        this.#health.set(change.key, change.to);
        return;
      case 'netns':
        this.#netns = change.to;
        return;
      case 'complete':
        this.#complete = change.to > 0;
        return;
      case 'time':
        this.api.nowMs += change.ms;
        return;
      case 'foreign':
        this.api.put('services', { metadata: { name: change.name }, spec: {} });
        return;
      default:
        this.#at[change.what][change.which] = change.to;
    }
  }

  facts(): SiteFacts {
    const chosen = <T>(choices: readonly (readonly T[])[], at: readonly number[]): T[] =>
      choices.flatMap((each, i) => each[at[i] as number] ?? []);
    const keys = (to: 'up' | 'down') => BACKENDS.filter((key) => this.#health.get(key) === to);
    return {
      clusters: chosen(CLUSTER_READINGS, this.#at.cluster),
      listeners: chosen(LISTENER_READINGS, this.#at.listener),
      machines: chosen(MACHINE_FACTS, this.#at.machine),
      complete: this.#complete,
      netns: NETNS_ENTRIES[this.#netns] ?? [],
      up: keys('up'),
      down: keys('down'),
      ports: Object.fromEntries(LISTENERS.map((name, i) => [name, { kind: 'open', port: 17_000 + i }])),
    };
  }
}

class Loop {
  readonly #cacheOfTurn: () => TurnCache;
  #world: World | null = null;
  #memory: PlanMemory = NO_MEMORY;

  constructor(cacheOfTurn: () => TurnCache) {
    this.#cacheOfTurn = cacheOfTurn;
  }

  turn(facts: SiteFacts, api: ModelApi) {
    const cache = this.#cacheOfTurn();
    const kube = api.seenBy({}, {}, facts.complete, cache);
    this.#world = worldFor({ ...facts, kube }, this.#world);
    const desired = desiredFor(this.#world, cache);
    const plan = diff(kube, desired, { settings: SETTINGS, memory: this.#memory, cache });
    this.#memory = plan.memory;
    return { desired, plan, shown: turnResult(desired, plan, cache) };
  }
}

describe('a turn', () => {
  test('has the same result with a warm cache, with a new cache and without a cache', () => {
    let actions = 0;
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 3 }), { minLength: 1, maxLength: 12 }), (turns) => {
        const site = new Site();
        const kept = new TurnCache();
        const none = new NoCache();
        const warm = new Loop(() => kept);
        const others = [new Loop(() => new TurnCache()), new Loop(() => none)];
        for (const changes of turns) {
          for (const each of changes) site.change(each);
          const facts = site.facts();
          const result = warm.turn(facts, site.api);
          for (const other of others) expect(other.turn(facts, site.api)).toEqual(result);
          actions += result.plan.actions.length;
          site.api.carryOut(result.plan.actions);
        }
      }),
      { numRuns: 300 },
    );
    expect(actions).toBeGreaterThan(100);
  });

  test('without a change gives the same objects again with a warm cache', () => {
    const site = new Site();
    site.change({ what: 'cluster', which: 0, to: 2 });
    site.change({ what: 'health', key: keyAt('10.0.0.1', 6443), to: 'up' });
    const cache = new TurnCache();
    const loop = new Loop(() => cache);
    for (let i = 0; i < 3; i += 1) site.api.carryOut(loop.turn(site.facts(), site.api).plan.actions);
    const before = loop.turn(site.facts(), site.api);
    const after = loop.turn(site.facts(), site.api);
    expect(before.plan.publications.get('kube-1')).toBeDefined();
    expect(after.plan.publications.get('kube-1')).toBe(before.plan.publications.get('kube-1'));
    const shownOf = ({ shown }: typeof before) => shown.clusters.find(({ name }) => name === 'kube-1');
    expect(shownOf(before)?.publication).toBeDefined();
    expect(shownOf(after)).toBe(shownOf(before));
  });
});
