// The objects of additional listeners: their own Service and slice, and the order of their withdrawal. Foreign objects are never changed.

import { describe, expect, test } from 'vitest';
import {
  keyAt,
  listener,
  machine,
  type SiteFacts,
  worldFor,
} from '../../../test/support/kubernetes/listeners.ts';
import { ModelApi, NAMESPACE, SETTINGS } from '../../../test/support/kubernetes/model-api.ts';
import { desiredState } from '../desired/desired-state.ts';
import type { Peers, Self } from '../instance/instance-state.ts';
import { serviceOf } from '../objects/published-objects.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { World } from '../world/world.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type PlanMemory } from './plan.ts';

const KEY = `${NAMESPACE}/ssh`;
const site: SiteFacts = {
  listeners: [listener('ssh', { port: 22 })],
  machines: [machine('w-1', '10.0.0.11', { role: 'worker' })],
  up: [keyAt('10.0.0.11')],
  ports: { ssh: { kind: 'open', port: 17_001 } },
};
const down = { up: [], down: [keyAt('10.0.0.11')] };

/** One instance and its turns. */
class Instance {
  readonly #api: ModelApi;
  readonly self: Partial<Self>;
  peers: Partial<Peers> = {};
  readonly #cache = new TurnCache();
  #world: World | null = null;
  #memory: PlanMemory = NO_MEMORY;

  constructor(api: ModelApi, self: Partial<Self> = {}) {
    this.#api = api;
    this.self = self;
  }

  plan(facts: SiteFacts) {
    const kube = this.#api.seenBy(this.self, this.peers);
    this.#world = worldFor({ ...facts, kube }, this.#world);
    const desired = desiredState(this.#world, { namespace: NAMESPACE, defaultCluster: null }, this.#cache);
    const plan = diff(kube, desired, { settings: SETTINGS, memory: this.#memory, cache: this.#cache });
    this.#memory = plan.memory;
    return { ...plan, desired };
  }

  /** Runs turns until only status writes remain. */
  settle(facts: SiteFacts) {
    for (let i = 0; i < 10; i += 1) {
      const plan = this.plan(facts);
      const actions = plan.actions.filter(({ kind }) => kind !== 'status');
      if (actions.length === 0) return plan;
      this.#api.carryOut(actions);
    }
    throw new Error('ten turns were not enough');
  }
}

const slice = (api: ModelApi, name = 'kube-1-ssh-net-1') => api.slices.get(name);

describe('the objects of a listener', () => {
  test('are a Service of its own, without the label of a cluster, and a slice with its own port', () => {
    const api = new ModelApi();
    const { publications } = new Instance(api).settle(site);
    expect(api.services.get('kube-1-ssh')).toMatchObject({
      metadata: {
        labels: {
          'isthmus.dev/resource-owner': 'kube-1',
          'isthmus.dev/listener-service': 'kube-1-ssh',
        },
        annotations: { 'isthmus.dev/resource-owner': 'kube-1', 'isthmus.dev/listener': KEY },
        ownerReferences: [{ kind: 'OpenStackCluster', uid: 'cluster-kube-1' }],
      },
      spec: { ports: [{ name: 'listener', port: 22, protocol: 'TCP' }] },
    });
    expect(Object.keys(api.services.get('kube-1-ssh')?.metadata?.labels ?? {}).join()).not.toContain(
      'vexxhost',
    );
    expect(slice(api)).toMatchObject({
      metadata: {
        labels: {
          'kubernetes.io/service-name': 'kube-1-ssh',
          'isthmus.dev/instance': 'net-1',
          'endpointslice.kubernetes.io/managed-by': 'isthmus.dev',
        },
      },
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
      ports: [{ name: 'listener', port: 17_001, protocol: 'TCP' }],
    });
    expect(publications.get('kube-1/kube-1-ssh')).toMatchObject({
      service: 'ours',
      slice: 'ready',
      readyInstances: 1,
      problem: null,
    });
  });

  test('of protocol TLS have the port that it shares with the clusters', () => {
    const api = new ModelApi();
    new Instance(api).settle({ ...site, listeners: [listener('ssh', { protocol: 'TLS' })], ports: {} });
    expect(slice(api)?.ports).toEqual([{ name: 'listener', port: 16_443, protocol: 'TCP' }]);
  });

  test('do not look like objects of magnum-cluster-api-proxy while it runs too, and are not rewritten every turn', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.peers = { mode: 'timestamp' };
    instance.settle(site);
    const text = JSON.stringify([api.services.get('kube-1-ssh'), slice(api)]);
    expect(text).not.toContain('vexxhost');
    api.nowMs += 60_000;
    expect(instance.plan(site).actions.filter(({ kind }) => kind !== 'status')).toEqual([]);
  });

  test('do not include a kubeconfig, and no kubeconfig is read', () => {
    const api = new ModelApi();
    api.putSecret(`${NAMESPACE}/kube-1-ssh-kubeconfig`, 'https://10.0.0.5:6443');
    new Instance(api).settle(site);
    expect([...api.secrets.values()].map(({ server }) => server)).toEqual(['https://10.0.0.5:6443']);
  });

  test('follow its port, and foreign changes are reverted', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    instance.settle({
      ...site,
      listeners: [listener('ssh', { port: 2222 })],
      ports: { ssh: { kind: 'open', port: 17_009 } },
    });
    // The members answer on another port from now on.
    expect(api.services.get('kube-1-ssh')?.spec?.ports?.[0]?.port).toBe(2222);
    instance.settle({
      ...site,
      listeners: [listener('ssh', { port: 2222, targetPort: 22 })],
      ports: { ssh: { kind: 'open', port: 17_009 } },
    });
    expect(slice(api)?.ports?.[0]?.port).toBe(17_009);
  });
});

describe('a listener is withdrawn by', () => {
  test('the failure of all its members: the slice is deleted at once, and the Service stays', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    const [first] = instance.plan({ ...site, ...down }).actions;
    expect(first).toMatchObject({ kind: 'delete', resource: 'endpointslices', name: 'kube-1-ssh-net-1' });
    instance.settle({ ...site, ...down });
    expect([api.slices.size, [...api.services.keys()]]).toEqual([0, ['kube-1-ssh']]);
  });

  test('the loss of its port: the slice is deleted too', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    instance.settle({ ...site, ports: { ssh: { kind: 'failed', reason: 'busy' } } });
    expect(api.slices.size).toBe(0);
  });

  test('a drain before its port is open again: the terminating slice keeps the old port number', () => {
    const api = new ModelApi();
    new Instance(api).settle(site);
    new Instance(api, { draining: true }).settle({ ...site, ports: {} });
    expect(slice(api)).toMatchObject({
      endpoints: [{ conditions: { ready: false, terminating: true } }],
      ports: [{ port: 17_001 }],
    });
  });

  test('its deletion: the slice terminates and is deleted, then the Service, then the port', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    const gone = { ...site, listeners: [] };
    instance.settle(gone);
    expect(slice(api)?.endpoints?.[0]?.conditions).toEqual({
      ready: false,
      serving: true,
      terminating: true,
    });
    expect(instance.plan(gone).desired.ports).toHaveLength(1);
    api.nowMs += 5000;
    instance.settle(gone);
    expect([api.slices.size, api.services.size]).toEqual([0, 1]);
    api.nowMs += 1001;
    instance.settle(gone);
    expect(api.services.size).toBe(0);
    expect(instance.plan(gone).desired.ports).toHaveLength(1);
    api.nowMs += 5000;
    expect(instance.settle(gone).desired.ports).toEqual([]);
  });

  test('its deletion with a restart in the middle: the remaining objects are deleted', () => {
    const api = new ModelApi();
    new Instance(api).settle(site);
    const next = new Instance(api);
    const gone = { ...site, listeners: [] };
    next.settle(gone);
    api.nowMs += 1001;
    next.settle(gone);
    expect([api.slices.size, api.services.size]).toEqual([0, 0]);
  });

  test('nothing while listeners cannot be read', () => {
    const api = new ModelApi();
    new Instance(api).settle(site);
    const next = new Instance(api);
    const unreadable = { ...site, listeners: [], snapshot: { complete: false } };
    next.settle(unreadable);
    api.nowMs += 60_000;
    next.settle(unreadable);
    expect([api.slices.size, api.services.size]).toEqual([1, 1]);
  });

  test('the removal of the CRD, but only after a minute', () => {
    const api = new ModelApi();
    new Instance(api).settle({ ...site, ...down });
    const other = new Instance(api, { instance: 'net-2' });
    const absent = { ...site, listeners: [], netns: [], snapshot: { kindAbsent: true } };
    for (let i = 0; i < 5; i += 1) {
      other.settle(absent);
      api.nowMs += 10_000;
    }
    expect([...api.services.keys()]).toEqual(['kube-1-ssh']);
    api.nowMs += 10_000;
    other.settle(absent);
    api.nowMs += 1001;
    other.settle(absent);
    expect(api.services.size).toBe(0);
  });

  test('an invalid spec after a restart: the slice of the closed port is deleted, and the Service stays', () => {
    const api = new ModelApi();
    new Instance(api).settle(site);
    const next = new Instance(api);
    const wrong = { ...site, listeners: [listener('ssh', { protocol: 'UDP' })] };
    const why = `AdditionalListener ${NAMESPACE}/ssh is not published any more`;
    expect(next.plan(wrong).actions).toContainEqual(expect.objectContaining({ kind: 'delete', why }));
    next.settle(wrong);
    api.nowMs += 60_000;
    next.settle(wrong);
    expect([api.slices.size, [...api.services.keys()]]).toEqual([0, ['kube-1-ssh']]);
  });
});

describe('foreign objects', () => {
  test('a Service of its name without our annotation is not used, and the listener gets another Service name', () => {
    const api = new ModelApi();
    api.put('services', { metadata: { name: 'kube-1-ssh', namespace: NAMESPACE }, spec: { ports: [] } });
    const before = JSON.stringify(api.services.get('kube-1-ssh'));
    const { desired } = new Instance(api).settle(site);
    expect(JSON.stringify(api.services.get('kube-1-ssh'))).toBe(before);
    expect(desired.listeners[0]?.service).toMatch(/^kube-1-ssh-[0-9a-f]{10}$/);
    expect(api.slices.size).toBe(1);
  });

  test("a cluster never adopts a listener's Service, and gets the name only after that Service is gone", () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    const before = JSON.stringify([...api.services, ...api.slices]);
    const facts = {
      key: `${NAMESPACE}/x`,
      name: 'kube-1-ssh',
      namespace: NAMESPACE,
      origin: 'x',
      createdAtMs: 1,
      networkIds: ['6f70ae1c-0f0f-4d44-9ed0-2b0d1b1b0001'],
      address: '10.0.0.5',
      port: 6443,
    };
    const clusters = [...(worldFor(site).clusters ?? []), { kind: 'proxied' as const, facts }];
    const crowded = { ...site, clusters };
    const settle = (facts: typeof crowded) => {
      for (let i = 0; i < 4; i += 1) {
        instance.settle(facts);
        api.nowMs += 5001;
      }
    };
    expect(instance.plan(crowded).publications.has('kube-1-ssh')).toBe(false);
    settle(crowded);
    expect(JSON.stringify([...api.services, ...api.slices])).toBe(before);
    settle({ ...crowded, listeners: [] });
    expect(api.services.get('kube-1-ssh')?.metadata).toMatchObject({
      labels: { 'isthmus.dev/resource-owner': 'kube-1-ssh' },
      annotations: { 'isthmus.dev/name-holder': `${NAMESPACE}/x` },
    });
    // A listener that comes back later gets another Service name.
    settle(crowded);
    expect([...api.services.keys()].filter((name) => /^kube-1-ssh-[0-9a-f]{10}$/.test(name))).toHaveLength(1);
  });

  test('a copy of our Service under another name is never changed', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    const object = api.services.get('kube-1-ssh');
    api.put('services', { ...object, metadata: { ...object?.metadata, name: 'copy', uid: 'copy' } });
    const gone = { ...site, listeners: [] };
    for (let i = 0; i < 4; i += 1) {
      instance.settle(gone);
      api.nowMs += 5001;
    }
    expect([...api.services.keys()]).toEqual(['copy']);
  });

  test('the Service of a cluster stays when a listener is deleted, and the Service of a listener when a cluster is', () => {
    const api = new ModelApi();
    api.put(
      'services',
      serviceOf({ cluster: 'kube-1', namespace: NAMESPACE, owner: null, mode: 'lease', tags: {} }),
    );
    const instance = new Instance(api);
    for (let i = 0; i < 4; i += 1) {
      instance.settle(site);
      api.nowMs += 5001;
    }
    expect([...api.services.keys()].sort()).toEqual(['kube-1', 'kube-1-ssh']);
  });
});

describe('the status of a listener', () => {
  const written = (instance: Instance, facts: SiteFacts) =>
    instance.plan(facts).actions.flatMap((action) => (action.kind === 'status' ? [action.status] : []));
  const withStatus = (status: object, spec: object = {}) => [listener('ssh', spec, { status })];

  test('is written once', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    api.nowMs += 10_000;
    const [status] = written(instance, site);
    expect(status).toMatchObject({
      observedGeneration: 1,
      serviceName: 'kube-1-ssh',
      members: 1,
      ready: 1,
      notReady: 0,
      ignored: 0,
      conditions: [
        { type: 'Accepted', status: 'True', observedGeneration: 1 },
        { type: 'Programmed', status: 'True' },
        { type: 'Ready', status: 'True', message: expect.stringContaining('served by 1 instance') },
      ],
    });
    // Before and after the watch delivers the write.
    expect(written(instance, site)).toEqual([]);
    expect(written(instance, { ...site, listeners: withStatus(status as object) })).toEqual([]);
    api.nowMs += 60_000;
    expect(written(instance, { ...site, listeners: withStatus(status as object) })).toEqual([]);
  });

  test('keeps the transition time of an unchanged condition, and the conditions of other writers', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    instance.settle(site);
    api.nowMs += 10_000;
    const [status] = written(instance, site) as { conditions: object[] }[];
    const foreign = { type: 'Audited', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' };
    const seen = { ...status, conditions: [...(status?.conditions ?? []), foreign] };
    api.nowMs += 30_000;
    const facts = { ...site, ...down, listeners: withStatus(seen) };
    const [next] = written(instance, facts) as {
      conditions: { type: string; lastTransitionTime: string }[];
    }[];
    const timeOf = (list: readonly object[] | undefined, type: string) =>
      (list as { type: string; lastTransitionTime: string }[] | undefined)?.find((each) => each.type === type)
        ?.lastTransitionTime;
    expect(timeOf(next?.conditions, 'Accepted')).toBe(timeOf(status?.conditions, 'Accepted'));
    expect(next?.conditions).toContainEqual(foreign);
  });

  test('is written by the first instance with a slice, or without any slice by the first live instance', () => {
    const api = new ModelApi();
    const live = new Set(['net-1', 'net-2']);
    const second = new Instance(api, { instance: 'net-2' });
    second.peers = { live, rank: 1 };
    const first = new Instance(api, { instance: 'net-1' });
    first.peers = { live, rank: 0 };
    // Only the second instance can reach the listener.
    const away = { ...site, netns: [] };
    expect([...written(first, away), ...written(second, { ...site, machines: [] })]).toEqual([]);
    api.nowMs += 6000;
    expect(written(first, away)).toHaveLength(1);
    second.settle(site);
    api.nowMs += 30_000;
    expect(written(second, site)).toHaveLength(1);
    expect(written(first, away)).toEqual([]);
  });

  test('respects the write gap when the turn of an instance comes and goes', () => {
    const api = new ModelApi();
    const instance = new Instance(api, { instance: 'net-2' });
    const away = { ...site, netns: [] };
    const first = { live: new Set(['net-1', 'net-2']), rank: 0 };
    instance.peers = first;
    written(instance, away);
    api.nowMs += 6000;
    const [status] = written(instance, away);
    const seen = { ...away, listeners: withStatus({ ...status, members: 7 }) };
    instance.peers = { ...first, rank: 1 };
    expect(written(instance, seen)).toEqual([]);
    instance.peers = first;
    api.nowMs += 5000;
    expect(written(instance, seen)).toEqual([]);
    api.nowMs += 5000;
    expect(written(instance, seen)).toHaveLength(1);
  });

  test('is written every ten seconds for flapping members, and at once when a verdict changes', () => {
    const api = new ModelApi();
    const instance = new Instance(api);
    const two = {
      ...site,
      machines: [...(site.machines ?? []), machine('w-2', '10.0.0.12', { role: 'worker' })],
    };
    instance.settle(two);
    api.nowMs += 10_000;
    let [status] = written(instance, two);
    expect(status).toMatchObject({ ready: 1, notReady: 1 });
    const both = { ...two, up: [keyAt('10.0.0.11'), keyAt('10.0.0.12')] };
    let writes = 0;
    for (let ms = 0; ms < 60_000; ms += 200) {
      api.nowMs += 200;
      const facts = { ...(ms % 400 === 0 ? both : two), listeners: withStatus(status as object) };
      for (const next of written(instance, facts)) {
        status = next;
        writes += 1;
      }
    }
    expect(writes).toBeGreaterThan(1);
    expect(writes).toBeLessThanOrEqual(7);
    const lost = { ...two, ports: { ssh: { kind: 'failed' as const, reason: 'busy' } } };
    instance.settle({ ...lost, listeners: withStatus(status as object) });
    api.nowMs += 1001;
    expect(written(instance, { ...lost, listeners: withStatus(status as object) })).toMatchObject([
      { conditions: [{}, {}, { type: 'Ready', status: 'False', reason: 'Pending' }] },
    ]);
  });

  test('has Accepted false, with the reason, after an invalid edit', () => {
    const api = new ModelApi();
    const facts = { ...site, listeners: [listener('ssh', { rolloutLabels: { role: 'x' } })] };
    expect(written(new Instance(api), facts)).toMatchObject([
      {
        conditions: [
          {
            type: 'Accepted',
            status: 'False',
            reason: 'Invalid',
            message: expect.stringContaining('rolloutLabels'),
          },
          { type: 'Programmed', status: 'False' },
          { type: 'Ready', status: 'False', reason: 'Invalid' },
        ],
      },
    ]);
  });
});
