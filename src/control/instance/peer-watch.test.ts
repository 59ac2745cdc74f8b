import { beforeEach, describe, expect, test } from 'vitest';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { PersistentMap } from '../../kube/persistent-map.ts';
import {
  type EndpointSliceObject,
  endpointSliceOf,
  type LeaseObject,
  leaseOf,
} from '../objects/published-objects.ts';
import { sliceIndex } from '../objects/slice-index.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import { PeerWatch } from './peer-watch.ts';

const lease = (
  instance: string,
  second: number,
  holder = `${instance}/1`,
  where: { readonly clusterNamespace?: string | null } = {},
): [string, LeaseObject] => {
  const object = leaseOf({
    ...where,
    instance,
    namespace: 'ns',
    holder,
    host: '',
    acquiredAtMs: 0,
    renewedAtMs: second * 1000,
    transitions: 0,
    tags: {},
  });
  const metadata = { ...object.metadata, uid: `uid-${instance}`, resourceVersion: String(second) };
  return [`isthmus-${instance}`, { ...object, metadata }];
};
const slice = (cluster: string, instance: string): [string, EndpointSliceObject] => {
  const object = endpointSliceOf({
    cluster,
    namespace: 'ns',
    owner: null,
    instance,
    address: '192.0.2.1',
    family: 'IPv4',
    port: 6443,
    nodeName: null,
    mode: 'lease',
    timestamp: null,
    terminating: false,
    tags: {},
  });
  return [`${cluster}-${instance}`, object];
};
const upstream = (node: string, timestamp: string): [string, EndpointSliceObject] => [
  `prod-${node}`,
  {
    metadata: {
      labels: {
        'magnum-cluster-api.vexxhost.com/proxied-service': 'true',
        'magnum-cluster-api.vexxhost.com/node': node,
        'magnum-cluster-api.vexxhost.com/proxied-cluster': 'prod',
      },
      annotations: { 'magnum-cluster-api.vexxhost.com/timestamp': timestamp },
    },
    addressType: 'IPv4',
    endpoints: [],
  },
];

describe('the other instances', () => {
  let nowMs: number;
  let answers: (LeaseObject | KubeError)[];
  let asked: string[];
  let changes: number;
  let watch: PeerWatch;
  const make = (liveness: 'auto' | 'lease' | 'timestamp' = 'auto') => {
    const client: Requester = {
      request: async <T>({ path }: Parameters<Requester['request']>[0]) => {
        asked.push(path);
        const answer = answers.shift();
        if (answer === undefined || answer instanceof KubeError)
          throw answer ?? new KubeError({ code: 'unreachable', verb: 'get', path, detail: '' });
        return answer as T;
      },
    };
    const onChange = () => {
      changes += 1;
    };
    return new PeerWatch({ client, namespace: 'ns', instance: 'm', liveness, now: () => nowMs, onChange });
  };
  beforeEach(() => {
    nowMs = 1_000_000;
    answers = [];
    asked = [];
    changes = 0;
    watch = make();
  });
  const look = (
    leases: readonly [string, LeaseObject][],
    slices: readonly [string, EndpointSliceObject][] = [],
    heard = true,
  ) => watch.look(new Map(leases), indexOf(slices), { okSinceMs: 0, lastRenewOkMs: nowMs }, heard);
  const lookAndRead = (...args: Parameters<typeof look>) => {
    const view = look(...args);
    for (const name of view.unconfirmed) void watch.readLive(name);
    return view;
  };
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

  test('are alive while their Leases change, with this instance among them and a rank by name', () => {
    const { peers } = look([lease('a', 1), lease('z', 1), lease('m', 1)]);
    expect([...peers.live].sort()).toEqual(['a', 'm', 'z']);
    expect(peers).toMatchObject({ rank: 1, mode: 'lease', deadLeases: [] });
  });

  test('count as renewing while a Lease changed within its duration, also if this instance cannot renew', () => {
    const failing = (leases: readonly [string, LeaseObject][]) =>
      watch.look(
        new Map(leases),
        indexOf([slice('prod', 'gone')]),
        { okSinceMs: null, lastRenewOkMs: 0 },
        true,
      ).peers;
    expect(failing([lease('m', 1)]).anyRenews).toBe(false);
    expect(failing([lease('a', 1), lease('m', 1)]).anyRenews).toBe(true);
    nowMs += 20_000;
    failing([lease('a', 20), lease('m', 1)]);
    nowMs += 29_999;
    expect(failing([lease('a', 20), lease('m', 1)]).anyRenews).toBe(true);
    nowMs += 1;
    const { anyRenews, live } = failing([lease('a', 20), lease('m', 1)]);
    expect({ anyRenews, lives: live.has('a') }).toEqual({ anyRenews: false, lives: true });
  });

  test('that search another namespace are alive, but do no work for our clusters', () => {
    const elsewhere = lease('a', 1, 'a/1', { clusterNamespace: 'ns-b' });
    const { peers } = look([elsewhere, lease('m', 1)]);
    expect(peers.live.has('a')).toBe(true);
    expect(peers).toMatchObject({ sameScope: new Set(['m']), rank: 0 });
    // This instance and the other one search all namespaces. A Lease without the annotation counts as ours.
    const [alike, unannotated] = [lease('b', 1, 'b/1', { clusterNamespace: null }), lease('c', 1)];
    expect(look([elsewhere, alike, unannotated, lease('m', 1)]).peers.rank).toBe(2);
  });

  test('are read live, one read at a time, before their objects and Leases are deleted', async () => {
    look([lease('z', 1)], [slice('prod', 'z')]);
    nowMs += 30_000;
    const { peers, waiting, unconfirmed } = look([lease('z', 1)], [slice('prod', 'z')]);
    expect(unconfirmed).toEqual(['isthmus-z']);
    expect(asked).toEqual([]);
    lookAndRead([lease('z', 1)], [slice('prod', 'z')]);
    lookAndRead([lease('z', 1)], [slice('prod', 'z')]);
    expect([...peers.live]).toEqual(['m']);
    expect(peers.collect.size).toBe(0);
    expect(waiting).toContain('reading the Lease again');
    expect(asked).toEqual(['/apis/coordination.k8s.io/v1/namespaces/ns/leases/isthmus-z']);
    await settled();
    expect(changes).toBe(1);
    answers.push(lease('z', 1)[1]);
    lookAndRead([lease('z', 1)], [slice('prod', 'z')]);
    await settled();
    const after = look([lease('z', 1)], [slice('prod', 'z')]);
    expect([...after.peers.collect]).toEqual(['z']);
    expect(after.peers.deadLeases).toEqual([
      { instance: 'z', name: 'isthmus-z', uid: 'uid-z', resourceVersion: '1' },
    ]);
  });

  test.each<[string, LeaseObject | KubeError | object]>([
    ['is not an object', {}],
    ['is an error', new KubeError({ code: 'forbidden', verb: 'get', path: '/x', detail: '' })],
  ])('keep their objects when the answer %s', async (_title, answer) => {
    look([lease('z', 1)]);
    nowMs += 30_000;
    answers.push(answer as LeaseObject);
    lookAndRead([lease('z', 1)]);
    await settled();
    expect(look([lease('z', 1)]).peers.collect.size).toBe(0);
  });

  test('that only renew need no turn, but a new, deleted or taken-over Lease needs one', () => {
    look([lease('z', 1)]);
    nowMs += 29_000;
    expect(watch.observe(new Map([lease('z', 2)]))).toBe(false);
    nowMs += 29_000;
    expect([...look([lease('z', 2)]).peers.live]).toContain('z');
    expect(watch.observe(new Map([lease('z', 3), lease('y', 3)]))).toBe(true);
    expect(watch.observe(new Map([lease('z', 3, 'z/2')]))).toBe(true);
    expect(watch.observe(new Map())).toBe(true);
  });

  test('are checked again when the next Lease can expire', () => {
    expect(look([lease('z', 1)]).lookAgainAtMs).toBe(nowMs + 30_000);
    expect(look([]).lookAgainAtMs).toBeNull();
  });

  test('with slices but no Lease stay alive for one Lease duration', () => {
    expect([...look([], [slice('prod', 'z')]).peers.live].sort()).toEqual(['m', 'z']);
    nowMs += 30_000;
    expect([...look([], [slice('prod', 'z')]).peers.live]).toEqual(['m']);
  });

  test('of magnum-cluster-api-proxy set the mode while their timestamps change', () => {
    expect(look([], [upstream('old', 't1')]).peers.mode).toBe('timestamp');
    nowMs += 29_999;
    expect(look([], [upstream('old', 't2')]).peers.mode).toBe('timestamp');
    nowMs += 30_000;
    const { peers } = look([], [upstream('old', 't2')]);
    expect(peers.mode).toBe('lease');
    expect([...peers.expiredUpstream]).toEqual(['prod-old']);
    watch = make('timestamp');
    expect(look([]).peers.mode).toBe('timestamp');
  });

  test('of magnum-cluster-api-proxy do not expire while the API is unreachable', () => {
    look([], [upstream('old', 't1')]);
    nowMs += 300_000;
    expect(look([], [upstream('old', 't1')], false).peers.expiredUpstream.size).toBe(0);
    nowMs += 29_999;
    expect(look([], [upstream('old', 't1')]).peers.expiredUpstream.size).toBe(0);
    nowMs += 1;
    expect(look([], [upstream('old', 't1')]).peers.expiredUpstream.size).toBe(1);
  });

  test('are not read any more after a stop', async () => {
    look([lease('z', 1)]);
    nowMs += 30_000;
    watch.stop();
    lookAndRead([lease('z', 1)]);
    await settled();
    expect(asked).toEqual([]);
    expect(changes).toBe(0);
  });
});

function indexOf(slices: readonly [string, EndpointSliceObject][]) {
  return sliceIndex(PersistentMap.empty<EndpointSliceObject>().with(slices), new TurnCache());
}
