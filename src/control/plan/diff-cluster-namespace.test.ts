// Two sets of instances publish into one namespace, for clusters of different namespaces. Neither set treats the other's objects as
// orphans.

import { describe, expect, test } from 'vitest';
import { desiredWith, ModelApi, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import type { Publication } from '../desired/publication.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan.ts';

const publication = (cluster: string, namespace: string): Publication => ({
  cluster,
  namespace,
  object: null,
  want: 'live',
  hasNetns: true,
});

/** One instance of the set for this cluster namespace; null: all namespaces. */
class Instance {
  readonly #api: ModelApi;
  readonly #name: string;
  readonly #clusterNamespace: string | null;
  readonly #cache = new TurnCache();
  #memory: PlanMemory = NO_MEMORY;

  constructor(api: ModelApi, name: string, clusterNamespace: string | null) {
    this.#api = api;
    this.#name = name;
    this.#clusterNamespace = clusterNamespace;
  }

  /** Runs turns over some time and returns the last plan. */
  run(publications: readonly Publication[]) {
    const settings = { ...SETTINGS, clusterNamespace: this.#clusterNamespace };
    let last: ReturnType<typeof diff> | null = null;
    for (let turn = 0; turn < 5; turn += 1) {
      const kube = this.#api.seenBy({ instance: this.#name }, { live: new Set(['net-1', 'net-2']) });
      last = diff(kube, desiredWith(publications, { listenersComplete: true }), {
        settings,
        memory: this.#memory,
        cache: this.#cache,
      });
      this.#memory = last.memory;
      this.#api.carryOut(last.actions);
      this.#api.nowMs += 10_000;
    }
    return last as ReturnType<typeof diff>;
  }
}

const services = (api: ModelApi) => [...api.services.keys()].sort();

describe('two sets of instances in one namespace', () => {
  test('keep each other’s Services and delete their own', () => {
    const api = new ModelApi();
    const [first, second] = [new Instance(api, 'net-1', 'ns-a'), new Instance(api, 'net-2', 'ns-b')];
    first.run([publication('alpha', 'ns-a')]);
    second.run([publication('beta', 'ns-b')]);
    first.run([publication('alpha', 'ns-a')]);
    expect(services(api)).toEqual(['alpha', 'beta']);
    // The Service stays even without a slice: its cluster may be down.
    second.run([{ ...publication('beta', 'ns-b'), want: 'down' }]);
    first.run([]);
    expect(services(api)).toEqual(['beta']);
  });

  test('a name that both use belongs to the first set, and the second reports a problem instead of overwriting it', () => {
    const api = new ModelApi();
    const [first, second] = [new Instance(api, 'net-1', 'ns-a'), new Instance(api, 'net-2', 'ns-b')];
    first.run([publication('same', 'ns-a')]);
    const { publications, actions } = second.run([publication('same', 'ns-b')]);
    expect(publications.get('same')).toMatchObject({
      service: 'foreign',
      problem: expect.stringContaining('in namespace ns-a'),
    });
    expect(actions).toEqual([]);
    expect([...api.slices.keys()]).toEqual(['same-net-1']);
  });
});

test('an instance for all namespaces deletes orphans of every namespace, and follows a cluster that moved', () => {
  const api = new ModelApi();
  new Instance(api, 'net-1', 'ns-a').run([publication('alpha', 'ns-a')]);
  api.slices.clear();
  const everywhere = new Instance(api, 'net-2', null);
  everywhere.run([publication('alpha', 'ns-b')]);
  const mark = api.services.get('alpha')?.metadata?.annotations?.['isthmus.dev/cluster-namespace'];
  expect(mark).toBe('ns-b');
  everywhere.run([]);
  expect(services(api)).toEqual([]);
});

test('a Service without the namespace annotation gets it from the instances that see its cluster', () => {
  const api = new ModelApi();
  const instance = new Instance(api, 'net-1', 'ns-a');
  instance.run([publication('alpha', 'ns-a')]);
  const old = structuredClone(api.services.get('alpha'));
  if (old?.metadata?.annotations === undefined) throw new Error('the Service has no annotations');
  delete old.metadata.annotations['isthmus.dev/cluster-namespace'];
  api.put('services', old);
  instance.run([publication('alpha', 'ns-a')]);
  expect(api.services.get('alpha')?.metadata?.annotations).toMatchObject({
    'isthmus.dev/cluster-namespace': 'ns-a',
  });
});
