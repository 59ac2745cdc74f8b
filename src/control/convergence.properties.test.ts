import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ModelApi, NAMESPACE, SETTINGS } from '../../test/support/kubernetes/model-api.ts';
import type { TargetHealth } from '../health/target-health.ts';
import { backendKey } from '../routing/route-table.ts';
import { desiredState } from './desired/desired-state.ts';
import { byText } from './objects/text-order.ts';
import { TurnCache } from './objects/turn-cache.ts';
import { diff } from './plan/diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan/plan.ts';
import type { ClusterReading } from './sources/cluster-source.ts';
import { type World, worldOf } from './world/world.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const DIRECT = 'https://10.0.0.1:6443';
const idOf = (i: number) => `${String(i + 1).repeat(8)}-1111-4111-8111-111111111111`;
const ENTRIES = NAMES.map((_, i) => ({
  name: `qdhcp-${idOf(i)}`,
  path: `/run/netns/qdhcp-${idOf(i)}`,
  identity: String(i),
}));

type Kind = 'gone' | 'proxied' | 'not-proxied' | 'pending' | 'invalid';
interface ClusterAt {
  readonly kind: Kind;
  readonly up: boolean;
}
const clusterAt: fc.Arbitrary<ClusterAt> = fc.record({
  kind: fc.constantFrom<Kind>('gone', 'proxied', 'proxied', 'not-proxied', 'pending', 'invalid'),
  up: fc.boolean(),
});
const states = fc.array(clusterAt, { minLength: NAMES.length, maxLength: NAMES.length });
/** The order of the changes. Each cluster has two changes: one of its object and one of its backend's health. */
const orders = fc.shuffledSubarray(
  NAMES.flatMap((_, i) => [
    { i, part: 'kind' as const },
    { i, part: 'up' as const },
  ]),
  { minLength: NAMES.length * 2 },
);

function readingOf(i: number, kind: Kind): ClusterReading | null {
  if (kind === 'gone') return null;
  const name = NAMES[i] as string;
  const common = {
    key: `${NAMESPACE}/${name}-x`,
    name,
    namespace: NAMESPACE,
    origin: name,
    createdAtMs: i,
    object: { apiVersion: 'v', name: `${name}-x`, uid: `uid-${name}`, directServer: DIRECT, deleting: false },
  };
  return kind === 'proxied'
    ? { kind, facts: { ...common, networkIds: [idOf(i)], address: '10.0.0.1', port: 6443 } }
    : { kind, ...common, reason: kind };
}

/** One instance that runs turn by turn against a model of the API. */
class Instance {
  readonly api = new ModelApi();
  readonly #now: ClusterAt[];
  readonly #cache = new TurnCache();
  #world: World | null = null;
  #memory: PlanMemory = NO_MEMORY;

  constructor(start: readonly ClusterAt[]) {
    this.#now = [...start];
    for (const name of NAMES) this.api.putSecret(`${NAMESPACE}/${name}-kubeconfig`, DIRECT);
  }

  change(i: number, part: 'kind' | 'up', to: ClusterAt): void {
    this.#now[i] = { ...(this.#now[i] as ClusterAt), [part]: to[part] };
  }

  turn(passMs: number): number {
    const kube = this.api.seenBy({});
    const clusters = this.#now.map(({ kind }, i) => readingOf(i, kind)).filter((reading) => reading !== null);
    const health = new Map<string, TargetHealth>(
      ENTRIES.map((netns, i) => [
        backendKey({ address: '10.0.0.1', port: 6443, netns }),
        {
          up: this.#now[i]?.up ?? false,
          sinceMs: 0,
          lastProbe: { atMs: 0, ok: this.#now[i]?.up ?? false, durationMs: 1, error: null },
        },
      ]),
    );
    const observed = {
      source: { complete: true, clusters, problems: [] },
      netns: { complete: true, entries: ENTRIES, problems: [] },
      health,
      kube,
    };
    this.#world = worldOf(observed, this.#world, { departureMs: 5000, allowMassDelete: false });
    const desired = desiredState(this.#world, { namespace: NAMESPACE, defaultCluster: null }, this.#cache);
    const plan = diff(kube, desired, { settings: SETTINGS, memory: this.#memory, cache: this.#cache });
    this.#memory = plan.memory;
    this.api.carryOut(plan.actions);
    this.api.nowMs += passMs;
    return plan.actions.length;
  }

  /** Runs for longer than every wait in the program, including that of the mass-delete breaker. */
  settle(): number {
    let last = 0;
    for (let i = 0; i < 80; i += 1) last = this.turn(5000);
    return last;
  }

  get routes(): readonly string[] {
    const desired = desiredState(
      this.#world as World,
      { namespace: NAMESPACE, defaultCluster: null },
      this.#cache,
    );
    return [...desired.routes.byServerName]
      .map(([name, { backends }]) => `${name} ${backends.map(({ key }) => key)}`)
      .sort();
  }
}

/** The state that must not depend on the order. It omits kubeconfigs of clusters that are down: those stay as they were. */
function ended({ api, routes }: Instance, end: readonly ClusterAt[]) {
  const plain = (object: { metadata?: object }) => ({
    ...object,
    metadata: { ...object.metadata, uid: '', resourceVersion: '' },
  });
  const serial = (objects: Iterable<{ metadata?: object }>) =>
    [...objects].map((object) => JSON.stringify(plain(object))).sort(byText);
  return {
    routes,
    services: serial(api.services.values()),
    slices: serial(api.slices.values()),
    secrets: NAMES.filter((_, i) => {
      const { kind, up } = end[i] as ClusterAt;
      return kind === 'not-proxied' || (kind === 'proxied' && up);
    }).map((name) => {
      const { server, recordedServer } = api.secrets.get(`${NAMESPACE}/${name}-kubeconfig`) ?? {};
      return { name, server, recordedServer };
    }),
  };
}

describe('the same events', () => {
  test('end in the same state in any order, including mass deletions and clusters that are no longer proxied', () => {
    fc.assert(
      fc.property(states, states, orders, fc.constantFrom(0, 300, 20_000), (start, end, order, passMs) => {
        const straight = new Instance(start);
        const shuffled = new Instance(start);
        straight.settle();
        shuffled.settle();
        for (const [i, to] of end.entries())
          for (const part of ['kind', 'up'] as const) straight.change(i, part, to);
        for (const { i, part } of order) {
          shuffled.change(i, part, end[i] as ClusterAt);
          shuffled.turn(passMs);
        }
        straight.settle();
        expect(shuffled.settle()).toBe(0);
        expect(ended(shuffled, end)).toEqual(ended(straight, end));
      }),
      { numRuns: 60 },
    );
  });

  test('never leave a cluster published without a route', () => {
    fc.assert(
      fc.property(states, states, orders, (start, end, order) => {
        const instance = new Instance(start);
        instance.settle();
        for (const { i, part } of order) {
          instance.change(i, part, end[i] as ClusterAt);
          for (let turns = 0; turns < 3; turns += 1) {
            instance.turn(1000);
            const routed = new Set(instance.routes.map((route) => route.split(' ', 1)[0]));
            for (const { metadata } of instance.api.slices.values())
              expect(routed).toContain(metadata?.labels?.['kubernetes.io/service-name']);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
