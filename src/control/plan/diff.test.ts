import { beforeEach, describe, expect, test } from 'vitest';
import {
  desiredWith,
  ModelApi,
  NAMESPACE,
  publication,
  SETTINGS,
} from '../../../test/support/kubernetes/model-api.ts';
import type { Publication } from '../desired/publication.ts';
import { formatTimestamp } from '../instance/timestamp-liveness.ts';
import { INSTANCE_LABEL, OWNER_TAG, TIMESTAMP_ANNOTATION } from '../objects/object-labels.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { diff } from './diff.ts';
import { NO_MEMORY, type Plan, type PlanMemory } from './plan.ts';

const SECRET = `${NAMESPACE}/prod-kubeconfig`;
const PROXIED = 'https://prod.magnum-system:6443';
const DIRECT = 'https://10.0.0.5:6443';

const upstreamLabels = { 'magnum-cluster-api.vexxhost.com/proxied-service': 'true' };
const upstreamService = (name: string) => ({
  metadata: { name, namespace: NAMESPACE, labels: upstreamLabels },
  spec: { ports: [{ name: 'https', port: 6443, protocol: 'TCP', targetPort: 6443 }] },
});
const upstreamSlice = (cluster: string, node: string, address = '192.0.2.77') => ({
  metadata: {
    name: `${cluster}-${node}`,
    namespace: NAMESPACE,
    labels: {
      ...upstreamLabels,
      'kubernetes.io/service-name': cluster,
      'magnum-cluster-api.vexxhost.com/node': node,
      'magnum-cluster-api.vexxhost.com/proxied-cluster': cluster,
    },
    annotations: { [TIMESTAMP_ANNOTATION]: formatTimestamp(0) },
  },
  addressType: 'IPv4',
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
  ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
});

describe('a plan', () => {
  let api: ModelApi;
  let memory: PlanMemory;
  beforeEach(() => {
    api = new ModelApi();
    memory = NO_MEMORY;
  });
  const planned = (
    kube: KubeWorld,
    publications: readonly Publication[],
    settings: Partial<typeof SETTINGS & { allowMassDelete: boolean }> = {},
    complete = true,
  ): Plan => {
    const plan = diff(kube, desiredWith(publications, { complete }), {
      settings: { ...SETTINGS, ...settings },
      memory,
      cache: new TurnCache(),
    });
    memory = plan.memory;
    return plan;
  };
  /** Runs turns until no action is left. */
  const settle = (kube: () => KubeWorld, publications: readonly Publication[]): Plan => {
    for (let turns = 0; turns < 10; turns += 1) {
      const plan = planned(kube(), publications);
      if (plan.actions.length === 0) return plan;
      api.carryOut(plan.actions);
    }
    throw new Error('ten turns were not enough');
  };
  const kinds = (plan: Plan) => plan.actions.map(({ kind, resource, name }) => `${kind} ${resource} ${name}`);

  describe('to publish a cluster', () => {
    test('creates the Service, then the slice, rewrites the kubeconfig, and then does nothing more', () => {
      api.putSecret(SECRET, DIRECT);
      const seen = () => api.seenBy({});
      const steps: string[][] = [];
      for (let i = 0; i < 5; i += 1) {
        const plan = planned(seen(), [publication('prod')]);
        steps.push(kinds(plan));
        api.carryOut(plan.actions);
      }
      expect(steps).toEqual([
        ['create services prod'],
        ['create endpointslices prod-net-1'],
        ['kubeconfig secrets prod-kubeconfig'],
        [],
        [],
      ]);
      expect(api.secrets.get(SECRET)).toMatchObject({ server: PROXIED, recordedServer: PROXIED });
      expect(api.slices.get('prod-net-1')).toMatchObject({
        addressType: 'IPv4',
        endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true }, nodeName: 'net-1' }],
        ports: [{ name: 'https', port: 16443 }],
      });
    });

    test('writes nothing before this instance listens, or while another process holds the Lease', () => {
      expect(kinds(planned(api.seenBy({ started: false }), [publication('prod')]))).toEqual([]);
      expect(kinds(planned(api.seenBy({ holder: false }), [publication('prod')]))).toEqual([]);
    });

    test('publishes no slice of a cluster whose backends fail, but its Service if its netns is on this host', () => {
      const down = publication('prod', { want: 'down' });
      expect(kinds(settle(() => api.seenBy({}), [down]))).toEqual([]);
      expect([...api.services.keys()]).toEqual(['prod']);
      expect(api.slices.size).toBe(0);
      api.services.clear();
      settle(() => api.seenBy({}), [{ ...down, hasNetns: false }]);
      expect(api.services.size).toBe(0);
    });

    test('explains why it publishes nothing when no address is known', () => {
      const plan = settle(
        () => api.seenBy({ endpoint: { reason: 'no default route' } }),
        [publication('prod')],
      );
      expect(api.slices.size).toBe(0);
      expect(plan.publications.get('prod')?.problem).toBe('no default route');
    });

    test('leaves a kubeconfig unchanged until an instance is ready', () => {
      api.putSecret(SECRET, DIRECT);
      settle(() => api.seenBy({}), [publication('prod', { want: 'down' })]);
      expect(api.secrets.get(SECRET)?.server).toBe(DIRECT);
    });

    test('lets only the first ready instance write a kubeconfig', () => {
      api.putSecret(SECRET, DIRECT);
      const live = new Set(['net-1', 'net-2']);
      const one = () => api.seenBy({ instance: 'net-1' }, { live });
      const two = () => api.seenBy({ instance: 'net-2' }, { live, rank: 1 });
      api.carryOut(planned(two(), [publication('prod')]).actions);
      api.carryOut(planned(two(), [publication('prod')]).actions);
      // A single instance is the first one.
      expect(kinds(planned(two(), [publication('prod')]))).toEqual(['kubeconfig secrets prod-kubeconfig']);
      api.carryOut(planned(one(), [publication('prod')]).actions);
      expect(kinds(planned(two(), [publication('prod')]))).toEqual([]);
      expect(kinds(planned(one(), [publication('prod')]))).toEqual(['kubeconfig secrets prod-kubeconfig']);
    });

    test('reads a kubeconfig again after a foreign change, and does not change one that cannot be written', () => {
      api.putSecret(SECRET, DIRECT);
      const seen = () => api.seenBy({});
      settle(seen, [publication('prod')]);
      api.putSecret(SECRET, DIRECT, PROXIED);
      expect(kinds(planned(seen(), [publication('prod')]))).toEqual(['kubeconfig secrets prod-kubeconfig']);
      const { resourceVersion = '' } = api.secrets.get(SECRET) ?? {};
      api.findings.set(SECRET, {
        resourceVersion,
        server: null,
        tlsServerName: null,
        skipReason: 'it is not YAML',
      });
      const plan = planned(seen(), [publication('prod')]);
      expect(kinds(plan)).toEqual([]);
      expect(plan.publications.get('prod')).toMatchObject({ kubeconfig: 'left-alone' });
      expect(plan.publications.get('prod')?.problem).toContain('it is not YAML');
    });
  });

  describe('to withdraw a cluster', () => {
    const settled = () => settle(() => api.seenBy({}), [publication('prod')]);

    test('deletes our own slice at once when the backend fails, even in an incomplete World', () => {
      settled();
      const down = publication('prod', { want: 'down' });
      const plan = planned(api.seenBy({}, {}, false), [down], {}, false);
      expect(kinds(plan)).toEqual(['delete endpointslices prod-net-1']);
      api.carryOut(plan.actions);
      expect(kinds(settle(() => api.seenBy({}), [down]))).toEqual([]);
      expect(api.services.has('prod')).toBe(true);
    });

    test('leaves a slice unchanged while the health of the backend is unknown', () => {
      settled();
      expect(kinds(planned(api.seenBy({}), [publication('prod', { want: 'undecided' })]))).toEqual([]);
    });

    test('makes all slices terminating when this instance stops, deletes them after a wait, and keeps the Services', () => {
      settled();
      const seen = () => api.seenBy({ draining: true });
      const first = planned(seen(), [publication('prod')]);
      api.carryOut(first.actions);
      expect(api.slices.get('prod-net-1')?.endpoints?.[0]?.conditions).toEqual({
        ready: false,
        serving: true,
        terminating: true,
      });
      const waiting = planned(seen(), [publication('prod')]);
      expect(kinds(waiting)).toEqual([]);
      expect(waiting.lookAgainAtMs).toBe(api.nowMs + 5000);
      api.nowMs += 5000;
      expect(kinds(planned(seen(), [publication('prod')]))).toEqual(['delete endpointslices prod-net-1']);
    });

    test('restores the kubeconfig of a cluster that is no longer proxied, then withdraws its slice, then its Service', () => {
      api.putSecret(SECRET, DIRECT);
      settled();
      const leaving = publication('prod', { want: 'leaving' });
      const seen = () => api.seenBy({});
      const steps: string[][] = [];
      for (let i = 0; i < 20; i += 1) {
        const plan = planned(seen(), [leaving]);
        if (plan.actions.length > 0) steps.push(kinds(plan));
        api.carryOut(plan.actions);
        api.nowMs += 1000;
      }
      expect(steps).toEqual([
        ['patch endpointslices prod-net-1', 'kubeconfig secrets prod-kubeconfig'],
        ['delete endpointslices prod-net-1'],
        ['delete services prod'],
      ]);
      expect(api.secrets.get(SECRET)).toMatchObject({ server: DIRECT, recordedServer: null });
    });

    test('keeps the Service while a live instance still refers to it', () => {
      settled();
      const leaving = publication('prod', { want: 'leaving' });
      const other = () => api.seenBy({ instance: 'net-2' }, { live: new Set(['net-1', 'net-2']) });
      planned(other(), [leaving]);
      api.nowMs += 60_000;
      expect(kinds(planned(other(), [leaving]))).toEqual([]);
    });

    test('never changes a kubeconfig of a cluster that was never proxied', () => {
      api.putSecret(SECRET, DIRECT);
      expect(kinds(settle(() => api.seenBy({}), [publication('prod', { want: 'leaving' })]))).toEqual([]);
    });
  });

  describe('foreign objects', () => {
    test('a foreign Service is never taken over: it is reported, and no slice refers to it', () => {
      api.put('services', {
        metadata: { name: 'prod', namespace: NAMESPACE },
        spec: { selector: { app: 'shop' }, ports: [] },
      });
      const plan = settle(() => api.seenBy({}), [publication('prod')]);
      expect(api.writes).toBe(0);
      expect(plan.publications.get('prod')).toMatchObject({ service: 'foreign', slice: 'absent' });
      expect(plan.publications.get('prod')?.problem).toContain('is not ours');
    });

    test('our own slice of a Service that became foreign is deleted', () => {
      settle(() => api.seenBy({}), [publication('prod')]);
      api.put('services', { metadata: { name: 'prod', namespace: NAMESPACE }, spec: { ports: [] } });
      settle(() => api.seenBy({}), [publication('prod')]);
      expect(api.slices.size).toBe(0);
    });

    test('a slice with our name but foreign labels stays, and ours gets another name', () => {
      api.put('slices', {
        metadata: {
          name: 'prod-net-1',
          namespace: NAMESPACE,
          labels: { 'kubernetes.io/service-name': 'shop' },
        },
        addressType: 'IPv4',
        endpoints: [],
        ports: [],
      });
      settle(() => api.seenBy({}), [publication('prod')]);
      expect(api.slices.get('prod-net-1')?.metadata?.labels).toEqual({
        'kubernetes.io/service-name': 'shop',
      });
      const ours = [...api.slices.values()].filter(({ metadata }) => metadata?.labels?.[INSTANCE_LABEL]);
      expect(ours).toHaveLength(1);
      // Our slice keeps its name even after the plain name is free.
      api.slices.delete('prod-net-1');
      expect(kinds(planned(api.seenBy({}), [publication('prod')]))).toEqual([]);
    });

    test('foreign changes of our fields are reverted, and foreign additions stay', () => {
      settle(() => api.seenBy({}), [publication('prod')]);
      const service = api.services.get('prod');
      api.put('services', {
        ...service,
        metadata: { ...service?.metadata, labels: { [OWNER_TAG]: 'prod', team: 'red' } },
        spec: { ports: [] },
      });
      settle(() => api.seenBy({}), [publication('prod')]);
      expect(api.services.get('prod')?.metadata?.labels).toMatchObject({ ...upstreamLabels, team: 'red' });
      expect(api.services.get('prod')?.spec?.ports).toMatchObject([{ port: 6443 }]);
    });

    test('an owner restored under another uid replaces the old one, or the garbage collector would delete the Service', () => {
      settle(() => api.seenBy({}), [publication('prod')]);
      const restored = publication('prod');
      settle(
        () => api.seenBy({}),
        [{ ...restored, object: { ...(restored.object as NonNullable<Publication['object']>), uid: 'new' } }],
      );
      for (const { metadata } of [...api.services.values(), ...api.slices.values()])
        expect(metadata?.ownerReferences?.map(({ uid }) => uid)).toEqual(['new']);
    });
  });

  describe('while magnum-cluster-api-proxy runs too', () => {
    const beside = () => api.seenBy({}, { mode: 'timestamp' });

    test('its Service is used, and tagged by annotation only', () => {
      api.put('services', upstreamService('prod'));
      settle(beside, [publication('prod')]);
      const { labels, annotations } = api.services.get('prod')?.metadata ?? {};
      expect(labels).toEqual(upstreamLabels);
      expect(annotations?.[OWNER_TAG]).toBe('prod');
    });

    test('its Service is adopted once none of its instances is live', () => {
      api.put('services', upstreamService('prod'));
      settle(() => api.seenBy({}), [publication('prod')]);
      expect(api.services.get('prod')?.metadata?.labels).toMatchObject({ [OWNER_TAG]: 'prod' });
    });

    test('slices carry a timestamp that is renewed every ten seconds, and lose it when the last one is gone', () => {
      settle(beside, [publication('prod')]);
      const stamp = () => api.slices.get('prod-net-1')?.metadata?.annotations?.[TIMESTAMP_ANNOTATION];
      const first = stamp();
      expect(first).toMatch(/\+00:00$/);
      api.nowMs += 9000;
      expect(kinds(planned(beside(), [publication('prod')]))).toEqual([]);
      api.nowMs += 1000;
      settle(beside, [publication('prod')]);
      expect(stamp()).not.toBe(first);
      settle(() => api.seenBy({}), [publication('prod')]);
      expect(stamp()).toBeUndefined();
      expect(api.slices.get('prod-net-1')?.metadata?.labels).not.toHaveProperty([
        'magnum-cluster-api.vexxhost.com/proxied-service',
      ]);
    });

    test('its slices stay while it is alive, and are deleted when their timestamps no longer change', () => {
      settle(() => api.seenBy({}), [publication('prod')]);
      api.put('slices', upstreamSlice('prod', 'net-9'));
      expect(kinds(planned(beside(), [publication('prod')]))).not.toContain(
        'delete endpointslices prod-net-9',
      );
      const expiredUpstream = new Set(['prod-net-9']);
      planned(api.seenBy({}, { expiredUpstream }), [publication('prod')]);
      api.nowMs += 1000;
      expect(kinds(planned(api.seenBy({}, { expiredUpstream }), [publication('prod')]))).toEqual([
        'delete endpointslices prod-net-9',
      ]);
    });
  });

  describe('the deletion of orphans', () => {
    const clusters = (count: number) => Array.from({ length: count }, (_, i) => publication(`c${i}`));
    const seen = () => api.seenBy({});

    test('deletes Service and slice of a deleted cluster', () => {
      settle(seen, clusters(2));
      planned(seen(), clusters(1));
      api.nowMs += 1000;
      settle(seen, clusters(1));
      api.nowMs += 1000;
      settle(seen, clusters(1));
      expect([...api.services.keys(), ...api.slices.keys()]).toEqual(['c0', 'c0-net-1']);
    });

    test.each([
      ['the source', false, true],
      ['the watches', true, false],
    ])('deletes nothing while %s is incomplete, for any length of time', (_title, source, watches) => {
      settle(seen, clusters(2));
      for (let i = 0; i < 10; i += 1) {
        api.nowMs += 60_000;
        expect(kinds(planned(api.seenBy({}, {}, watches), clusters(1), {}, source))).toEqual([]);
      }
    });

    test('waits for the instances of a lower rank', () => {
      settle(seen, clusters(1));
      const second = () => api.seenBy({ instance: 'net-2' }, { rank: 1 });
      planned(second(), []);
      api.nowMs += 3999;
      expect(kinds(planned(second(), []))).toEqual([]);
      api.nowMs += 1;
      expect(kinds(planned(second(), []))).toEqual(['delete services c0']);
    });

    test('deletes slices of a dead instance, then its Lease, and nothing of a live one', () => {
      const dead = { instance: 'net-2', name: 'isthmus-net-2', uid: 'u', resourceVersion: '7' };
      settle(() => api.seenBy({ instance: 'net-2' }), clusters(2));
      settle(seen, clusters(2));
      const later = () => api.seenBy({}, { collect: new Set(['net-2']), deadLeases: [dead] });
      const plan = planned(later(), clusters(2));
      expect(kinds(plan)).toEqual(['delete endpointslices c0-net-2', 'delete endpointslices c1-net-2']);
      api.carryOut(plan.actions);
      expect(kinds(planned(later(), clusters(2)))).toEqual(['delete leases isthmus-net-2']);
    });

    test('stops and reports a problem when most objects would be deleted at once; continues when allowed or after a wait', () => {
      settle(seen, clusters(8));
      planned(seen(), clusters(3));
      api.nowMs += 60_000;
      const held = planned(seen(), clusters(3));
      expect(held.actions).toEqual([]);
      expect(held.problems.map(({ origin }) => origin)).toEqual(['mass delete']);
      const allowed = diff(seen(), desiredWith(clusters(3)), {
        settings: { ...SETTINGS, allowMassDelete: true },
        memory,
        cache: new TurnCache(),
      });
      expect(kinds(allowed)).toEqual([3, 4, 5, 6, 7].map((i) => `delete endpointslices c${i}-net-1`));
      api.nowMs += 10 * 60_000;
      const lasted = planned(seen(), clusters(3));
      expect(lasted.actions).toEqual(allowed.actions);
    });
  });
});
