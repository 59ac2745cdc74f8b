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
  run(publications: readonly Publication[], { turns = 5, stepMs = 10_000 } = {}) {
    const settings = { ...SETTINGS, clusterNamespace: this.#clusterNamespace };
    let last: ReturnType<typeof diff> | null = null;
    for (let turn = 0; turn < turns; turn += 1) {
      const kube = this.#api.seenBy({ instance: this.#name }, { live: new Set(['net-1', 'net-2']) });
      last = diff(kube, desiredWith(publications, { listenersComplete: true }), {
        settings,
        memory: this.#memory,
        cache: this.#cache,
      });
      this.#memory = last.memory;
      this.#api.carryOut(last.actions);
      this.#api.nowMs += stepMs;
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

  test('write kubeconfigs with the server of the Service and the name of the cluster’s own namespace', () => {
    const api = new ModelApi();
    api.putSecret('ns-a/alpha-kubeconfig', 'https://10.0.0.5:6443');
    const instance = new Instance(api, 'net-1', 'ns-a');
    const plan = instance.run([publication('alpha', 'ns-a')]);
    const [server, tlsServerName] = [`https://alpha.${SETTINGS.namespace}:6443`, 'alpha.ns-a'];
    expect(api.secrets.get('ns-a/alpha-kubeconfig')).toMatchObject({
      server,
      tlsServerName,
      recordedServer: server,
      recordedTlsName: tlsServerName,
    });
    expect(plan.actions).toEqual([]);
    // Cluster API's rotation keeps the server and the annotations, and drops every other field.
    api.secrets.set('ns-a/alpha-kubeconfig', {
      resourceVersion: 'rotated',
      server,
      tlsServerName: null,
      recordedServer: server,
      recordedTlsName: tlsServerName,
    });
    const writes = api.writes;
    instance.run([publication('alpha', 'ns-a')]);
    expect(api.secrets.get('ns-a/alpha-kubeconfig')).toMatchObject({ server, tlsServerName });
    expect(api.writes).toBe(writes + 1);
    const object = { directServer: 'https://10.0.0.5:6443' } as Publication['object'];
    instance.run([{ ...publication('alpha', 'ns-a'), object, want: 'leaving' }]);
    expect(api.secrets.get('ns-a/alpha-kubeconfig')).toMatchObject({
      server: 'https://10.0.0.5:6443',
      tlsServerName: null,
      recordedServer: null,
      recordedTlsName: null,
    });
  });

  test('wait ten seconds at most for the names in a certificate that is being read', () => {
    const kubeconfig = () => api.secrets.get('ns-a/alpha-kubeconfig');
    const unread = { ...publication('alpha', 'ns-a'), certificate: 'unread' } as const;
    const record = { names: ['alpha.ns-a.svc'], omitted: 0, notAfter: '2027-01-01T00:00:00.000Z' };
    let api = new ModelApi();
    const start = () => {
      api = new ModelApi();
      api.putSecret('ns-a/alpha-kubeconfig', 'https://10.0.0.5:6443');
      return new Instance(api, 'net-1', 'ns-a');
    };
    // Three turns for Service, slice and the decision, 10 s in all.
    const patient = start();
    patient.run([unread], { turns: 3, stepMs: 3000 });
    expect(kubeconfig()?.tlsServerName).toBeNull();
    patient.run([unread], { turns: 5, stepMs: 3000 });
    expect(kubeconfig()?.tlsServerName).toBe('alpha.ns-a');
    // The names end the wait. They are on the slice, so every instance has them.
    const informed = start();
    informed.run([unread], { turns: 3, stepMs: 100 });
    expect(kubeconfig()?.tlsServerName).toBeNull();
    informed.run([{ ...unread, certificate: record }], { turns: 2, stepMs: 100 });
    expect(kubeconfig()?.tlsServerName).toBe('alpha.ns-a.svc');
    const text = () =>
      api.slices.get('alpha-net-1')?.metadata?.annotations?.['isthmus.dev/server-certificate'];
    expect(JSON.parse(text() ?? '')).toEqual({ names: record.names, notAfter: record.notAfter });
    // A restart has read nothing yet, and changes nothing.
    const writes = api.writes;
    new Instance(api, 'net-1', 'ns-a').run([unread], { turns: 3, stepMs: 10_000 });
    expect(api.writes).toBe(writes);
  });

  test('write no kubeconfig that could not be verified, and say which names there are', () => {
    const api = new ModelApi();
    api.putSecret('ns-a/alpha-kubeconfig', 'https://10.0.0.5:6443');
    const certificate = { names: ['kubernetes'], omitted: 0, notAfter: '2027-01-01T00:00:00.000Z' };
    const plan = new Instance(api, 'net-1', 'ns-a').run([{ ...publication('alpha', 'ns-a'), certificate }]);
    expect(plan.publications.get('alpha')).toMatchObject({
      kubeconfig: 'unverifiable',
      problem: expect.stringContaining('it has kubernetes'),
    });
    expect(api.secrets.get('ns-a/alpha-kubeconfig')).toMatchObject({ server: 'https://10.0.0.5:6443' });
  });

  test('give back only the server of a kubeconfig with a tls-server-name of another writer', () => {
    const api = new ModelApi();
    const server = `https://alpha.${SETTINGS.namespace}:6443`;
    api.putSecret('ns-a/alpha-kubeconfig', server, server);
    const { resourceVersion = '' } = api.secrets.get('ns-a/alpha-kubeconfig') ?? {};
    const skipReason = 'it has tls-server-name "x", which Isthmus did not write';
    api.findings.set('ns-a/alpha-kubeconfig', { resourceVersion, server, tlsServerName: 'x', skipReason });
    const instance = new Instance(api, 'net-1', 'ns-a');
    const plan = instance.run([publication('alpha', 'ns-a')]);
    expect(plan.publications.get('alpha')).toMatchObject({
      kubeconfig: 'left-alone',
      problem: expect.stringContaining(skipReason),
    });
    expect(api.secrets.get('ns-a/alpha-kubeconfig')?.resourceVersion).toBe(resourceVersion);
    const object = { directServer: 'https://10.0.0.5:6443' } as Publication['object'];
    instance.run([{ ...publication('alpha', 'ns-a'), object, want: 'leaving' }]);
    expect(api.secrets.get('ns-a/alpha-kubeconfig')).toMatchObject({ server: 'https://10.0.0.5:6443' });
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
