// Two sets of instances that publish into one namespace, each for the clusters of another: neither takes the other's for leftovers.
import { describe, expect, test } from 'vitest';
import { ModelApi, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import type { Publication } from '../desired/publication.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan.ts';

const publication = (cluster: string, namespace: string): Publication => ({
  cluster,
  namespace,
  object: null,
  want: 'live',
  near: true,
});

/** One instance of the set that looks for clusters in that namespace; null: in all. */
class Instance {
  readonly #api: ModelApi;
  readonly #name: string;
  readonly #clusterNamespace: string | null;
  #memory: PlanMemory = NO_MEMORY;

  constructor(api: ModelApi, name: string, clusterNamespace: string | null) {
    this.#api = api;
    this.#name = name;
    this.#clusterNamespace = clusterNamespace;
  }

  /** Turns over some time; the last plan. */
  run(publications: readonly Publication[]) {
    const settings = { ...SETTINGS, clusterNamespace: this.#clusterNamespace };
    let last: ReturnType<typeof diff> | null = null;
    for (let turn = 0; turn < 5; turn += 1) {
      const kube = this.#api.seenBy({ instance: this.#name }, { live: new Set(['net-1', 'net-2']) });
      last = diff(kube, { complete: true, publications, listenersComplete: true }, settings, this.#memory);
      this.#memory = last.memory;
      this.#api.carryOut(last.actions);
      this.#api.nowMs += 10_000;
    }
    return last as ReturnType<typeof diff>;
  }
}

const services = (api: ModelApi) => [...api.services.keys()].sort();

describe('two sets of instances in one namespace', () => {
  test('leave each other’s Services alone, and take back their own', () => {
    const api = new ModelApi();
    const [first, second] = [new Instance(api, 'net-1', 'ns-a'), new Instance(api, 'net-2', 'ns-b')];
    first.run([publication('alpha', 'ns-a')]);
    second.run([publication('beta', 'ns-b')]);
    first.run([publication('alpha', 'ns-a')]);
    expect(services(api)).toEqual(['alpha', 'beta']);
    // Not even without a slice: its cluster may be down.
    second.run([{ ...publication('beta', 'ns-b'), want: 'down' }]);
    first.run([]);
    expect(services(api)).toEqual(['beta']);
  });

  test('a name that both have belongs to the first, and the other says so instead of writing in turns', () => {
    const api = new ModelApi();
    const [first, second] = [new Instance(api, 'net-1', 'ns-a'), new Instance(api, 'net-2', 'ns-b')];
    first.run([publication('same', 'ns-a')]);
    const { clusters, actions } = second.run([publication('same', 'ns-b')]);
    expect(clusters.get('same')).toMatchObject({
      service: 'foreign',
      problem: expect.stringContaining('in namespace ns-a'),
    });
    expect(actions).toEqual([]);
    expect([...api.slices.keys()]).toEqual(['same-net-1']);
  });
});

test('an instance that looks everywhere collects what is gone everywhere, and follows a cluster that moved', () => {
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

test('a Service from before the mark is marked by those who have its cluster', () => {
  const api = new ModelApi();
  const instance = new Instance(api, 'net-1', 'ns-a');
  instance.run([publication('alpha', 'ns-a')]);
  const old = structuredClone(api.services.get('alpha'));
  if (old?.metadata?.annotations === undefined) throw new Error('it has no annotations');
  delete old.metadata.annotations['isthmus.dev/cluster-namespace'];
  api.put('services', old);
  instance.run([publication('alpha', 'ns-a')]);
  expect(api.services.get('alpha')?.metadata?.annotations).toMatchObject({
    'isthmus.dev/cluster-namespace': 'ns-a',
  });
});
