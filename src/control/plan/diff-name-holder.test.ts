// The record of the name holder on the Service of a cluster. An instance with a complete world writes it once, and all instances use it.

import { describe, expect, test } from 'vitest';
import { ModelApi, NAMESPACE, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import { backendKey } from '../../routing/route-table.ts';
import { desiredState } from '../desired/desired-state.ts';
import type { Peers } from '../instance/instance-state.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { ClusterReading } from '../sources/cluster-source.ts';
import { type World, worldOf } from '../world/world.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan.ts';

const HOLDER = 'isthmus.dev/name-holder';
const ID = '0f1e2d3c-1111-4222-8333-444455556666';
const NETNS = { name: `qdhcp-${ID}`, path: `/run/netns/qdhcp-${ID}`, identity: '#1' };
const BACKEND = backendKey({ address: '10.0.0.5', port: 6443, netns: NETNS });
const UP: TargetHealth = { up: true, sinceMs: 0, lastProbe: null };

const cluster = (
  key: string,
  createdAtMs: number,
  kind: ClusterReading['kind'] = 'proxied',
): ClusterReading => {
  const [namespace = '', object = ''] = key.split('/');
  const reference = { apiVersion: 'v1beta1', name: object, uid: `uid-${key}`, deleting: false };
  const common = {
    key,
    name: 'prod',
    namespace,
    origin: key,
    createdAtMs,
    object: { ...reference, directServer: `https://${namespace}:6443` },
  };
  return kind === 'proxied'
    ? { kind, facts: { ...common, networkIds: [ID], address: '10.0.0.5', port: 6443 } }
    : { ...common, kind, reason: kind };
};
const VICTIM = cluster('tenant-v/prod', 9);
const OLDER = cluster('tenant-a/old', 1);

class Instance {
  readonly #api: ModelApi;
  readonly #name: string;
  peers: Partial<Peers> = {};
  readonly #cache = new TurnCache();
  #world: World | null = null;
  #memory: PlanMemory = NO_MEMORY;

  constructor(api: ModelApi, name = 'net-1') {
    this.#api = api;
    this.#name = name;
  }

  plan(clusters: readonly ClusterReading[], complete = true) {
    const live = new Set(['net-1', 'net-2']);
    const kube = this.#api.seenBy({ instance: this.#name }, { live, ...this.peers });
    const source = { complete, clusters, problems: [] };
    const netns = { complete: true, entries: [NETNS], problems: [] };
    this.#world = worldOf({ source, netns, health: new Map([[BACKEND, UP]]), kube }, this.#world, {
      departureMs: 5000,
      allowMassDelete: false,
    });
    const desired = desiredState(this.#world, { namespace: NAMESPACE, defaultCluster: null }, this.#cache);
    const plan = diff(kube, desired, { settings: SETTINGS, memory: this.#memory, cache: this.#cache });
    this.#memory = plan.memory;
    return { ...plan, desired };
  }

  /** Runs turns over some time and returns the decision of the last one. */
  run(clusters: readonly ClusterReading[], complete = true, turns = 6) {
    for (let i = 0; i < turns; i += 1) {
      this.#api.carryOut(this.plan(clusters, complete).actions);
      this.#api.nowMs += 5001;
    }
    return this.plan(clusters, complete);
  }
}

const holderIn = (api: ModelApi) => api.services.get('prod')?.metadata?.annotations?.[HOLDER];
const published = (api: ModelApi) =>
  JSON.stringify([...api.services, ...api.slices].map(([name, { metadata }]) => [name, metadata]));
const withoutRecord = (api: ModelApi) => {
  const service = structuredClone(api.services.get('prod'));
  delete service?.metadata?.annotations?.[HOLDER];
  if (service !== undefined) api.put('services', service);
};

test('a Service is created with the record, and neither instance writes again', () => {
  const api = new ModelApi();
  const [first, second] = [new Instance(api), new Instance(api, 'net-2')];
  for (const each of [first, second, first, second]) each.run([VICTIM]);
  expect(holderIn(api)).toBe('tenant-v/prod');
  const { writes } = api;
  for (const each of [first, second, first, second]) expect(each.run([VICTIM]).actions).toEqual([]);
  expect(api.writes).toBe(writes);
});

describe('a Service without a record', () => {
  test('of an earlier version gets one, by one write', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.run([VICTIM]);
    withoutRecord(api);
    const { actions } = instance.plan([VICTIM]);
    expect(actions).toMatchObject([
      { kind: 'patch', name: 'prod', patch: { metadata: { annotations: { [HOLDER]: 'tenant-v/prod' } } } },
    ]);
    api.carryOut(actions);
    expect(instance.plan([VICTIM]).actions).toEqual([]);
  });

  test('of magnum-cluster-api-proxy, which still runs, gets one by annotations alone', () => {
    const api = new ModelApi();
    const labels = { 'magnum-cluster-api.vexxhost.com/proxied-service': 'true' };
    api.put('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'prod', namespace: NAMESPACE, labels },
      spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 6443, protocol: 'TCP', targetPort: 6443 }] },
    });
    const instance = new Instance(api);
    instance.peers = { mode: 'timestamp' };
    instance.run([VICTIM]);
    expect(holderIn(api)).toBe('tenant-v/prod');
    expect(api.services.get('prod')?.metadata?.labels).toEqual(labels);
  });

  test.each<[string, ClusterReading, boolean]>([
    ['an instance that does not see everything', VICTIM, false],
    ['a cluster that was never valid', cluster('tenant-v/prod', 9, 'pending'), true],
  ])('gets none by %s', (_title, reading, complete) => {
    const api = new ModelApi();
    new Instance(api).run([VICTIM]);
    withoutRecord(api);
    new Instance(api).run([reading], complete);
    expect(holderIn(api)).toBeUndefined();
  });
});

describe('an older cluster of that name', () => {
  test.each<[string, ClusterReading[], boolean]>([
    ['appears', [OLDER, VICTIM], true],
    ['appears while the holder has lost its status', [OLDER, cluster('tenant-v/prod', 9, 'pending')], true],
    ['appears while the holder cannot be read', [OLDER], false],
  ])(
    'changes no published object when it %s, for running and for starting instances',
    (_t, now, complete) => {
      const api = new ModelApi();
      const running = new Instance(api);
      running.run([VICTIM]);
      const before = published(api);
      for (const instance of [running, new Instance(api, 'net-2')]) {
        const { desired } = instance.run(now, complete);
        expect(desired.clusters.find(({ origin }) => origin === 'tenant-a/old')).toMatchObject({
          state: 'invalid',
          serverNames: [],
          reason: expect.stringContaining('belongs to tenant-v/prod'),
        });
      }
      if (now.includes(VICTIM)) api.slices.delete('prod-net-2');
      expect(published(api)).toBe(before);
    },
  );

  test('gets the name once the holder is gone', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.run([VICTIM]);
    instance.run([OLDER]);
    expect(holderIn(api)).toBe('tenant-a/old');
    expect(instance.run([OLDER, VICTIM]).actions).toEqual([]);
    expect(holderIn(api)).toBe('tenant-a/old');
  });

  test('gets the name only after all objects of a holder that is no longer proxied are withdrawn', () => {
    const api = new ModelApi();
    api.putSecret('tenant-v/prod-kubeconfig', 'https://tenant-v:6443');
    const instance = new Instance(api);
    instance.run([VICTIM]);
    expect(api.secrets.get('tenant-v/prod-kubeconfig')?.server).toBe(`https://prod.${NAMESPACE}:6443`);
    const uid = api.services.get('prod')?.metadata?.uid;
    const now = [
      OLDER,
      cluster('tenant-v/prod', 9, 'not-proxied'),
      cluster('tenant-a/aside', 2, 'not-proxied'),
    ];
    for (let turn = 0; turn < 20 && holderIn(api) !== 'tenant-a/old'; turn += 1) {
      const { actions, desired } = instance.plan(now);
      if (api.services.get('prod')?.metadata?.uid === uid)
        expect(desired.routes.byServerName.get('prod')?.namespace).not.toBe('tenant-a');
      api.carryOut(actions);
      api.nowMs += 1001;
    }
    expect(holderIn(api)).toBe('tenant-a/old');
    expect(api.services.get('prod')?.metadata?.uid).not.toBe(uid);
    expect(api.secrets.get('tenant-v/prod-kubeconfig')?.server).toBe('https://tenant-v:6443');
  });
});

test('a cluster that takes a new name during the withdrawal of its old one is no default cluster', () => {
  const kube = new ModelApi().seenBy({});
  const reading = (key: string, name: string, kind: ClusterReading['kind'] = 'proxied'): ClusterReading => {
    const made = cluster(key, 1, kind);
    return made.kind === 'proxied' ? { ...made, facts: { ...made.facts, name } } : { ...made, name };
  };
  const seen = (clusters: readonly ClusterReading[], before: World | null) =>
    worldOf(
      {
        source: { complete: true, clusters, problems: [] },
        netns: { complete: true, entries: [NETNS], problems: [] },
        health: new Map([[BACKEND, UP]]),
        kube,
      },
      before,
      { departureMs: 5000, allowMassDelete: false },
    );
  const victim = reading('tenant-v/prod', 'prod');
  const before = seen([victim, reading('tenant-z/x', 'x')], null);
  const now = seen([victim, reading('tenant-z/x', 'prod', 'not-proxied')], before);
  const { routes } = desiredState(now, { namespace: NAMESPACE, defaultCluster: 'prod' }, new TurnCache());
  expect(routes.byServerName.get('x')?.namespace).toBe('tenant-z');
  expect(routes.defaultRoute?.namespace).toBe('tenant-v');
});
