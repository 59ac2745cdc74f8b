// The ways to an API server: which addresses of which Machines count, their order, and which of them are probed rarely.
import { describe, expect, test } from 'vitest';
import {
  desiredFor,
  keyAt,
  listener,
  machine,
  NAMESPACE,
  NETNS,
  NETWORK,
  pendingCluster,
  type SiteFacts,
  worldFor,
} from '../../../test/support/kubernetes/listeners.ts';
import type { CertificateReading } from '../../health/server-certificate.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import type { MachineFacts } from '../sources/machine.ts';
import type { World } from '../world/world.ts';

const CONTROL_PLANE = { 'cluster.x-k8s.io/control-plane': '' };
const VIP = '10.0.0.5';
const LB_NETWORK = '6f70ae1c-0f0f-4d44-9ed0-2b0d1b1b0002';
const netns = (prefix: string, network: string) => ({
  name: `${prefix}-${network}`,
  path: `/run/netns/${prefix}-${network}`,
  identity: `id of ${prefix} ${network}`,
});

const proxied = (changes: Partial<ClusterFacts> = {}): ClusterReading => {
  const { key, name, namespace, origin, object } = pendingCluster('kube-1') as ClusterReading & {
    kind: 'pending';
  };
  const facts = { key, name, namespace, origin, object: object ?? null, networkIds: [NETWORK] };
  return {
    kind: 'proxied',
    facts: { ...facts, clusterNetworkId: NETWORK, address: VIP, port: 6443, ...changes },
  };
};
const controlPlane = (name: string, address: string | readonly string[], changes: object = {}) =>
  machine(name, address, CONTROL_PLANE, changes);
const THREE = ['cp-1', 'cp-2', 'cp-3'].map((name, i) => controlPlane(name, `10.0.0.1${i}`));

const site = (facts: SiteFacts) => desiredFor(worldFor({ clusters: [proxied()], machines: THREE, ...facts }));
const waysOf = (facts: SiteFacts) =>
  site(facts).clusters[0]?.backends.map(({ address, machine: name = '', netns: where }) =>
    [address, name, where === NETNS.name ? '' : where].filter((part) => part !== '').join(' '),
  );
const key = (address: string) => keyAt(address, 6443);

describe('the ways to an API server', () => {
  const foreign = (changes: Partial<MachineFacts>) =>
    Object.freeze({ ...controlPlane('bad', '10.0.0.66'), ...changes });
  const rows: [sentence: string, facts: SiteFacts, ways: string[]][] = [
    [
      'are its own address and then the Machines of its control plane, by name',
      { machines: THREE.toReversed() },
      [VIP, '10.0.0.10 cp-1', '10.0.0.11 cp-2', '10.0.0.12 cp-3'],
    ],
    ['are no workers', { machines: [machine('worker', '10.0.0.20', { role: 'worker' })] }, [VIP]],
    ['are no Machines of another namespace', { machines: [foreign({ namespace: 'tenant-b' })] }, [VIP]],
    ['are no Machines of another cluster', { machines: [foreign({ cluster: 'kube-2' })] }, [VIP]],
    ['are no Machines without a cluster', { machines: [foreign({ cluster: '' })] }, [VIP]],
    ['are no Machines that are being deleted', { machines: [foreign({ leaving: true })] }, [VIP]],
    [
      'are no refused addresses',
      {
        machines: [
          '127.0.0.1',
          '169.254.169.254',
          '::ffff:10.0.0.9',
          '64:ff9b::7f00:1',
          'api',
          '0.0.0.0',
        ].map((address, i) => controlPlane(`cp-${i}`, address)),
      },
      [VIP],
    ],
    [
      'contain an address once, under the first name',
      { machines: [controlPlane('b', '10.0.0.11'), controlPlane('a', '10.0.0.11'), controlPlane('c', VIP)] },
      [VIP, '10.0.0.11 a'],
    ],
    [
      'are at most seven addresses of Machines, the first one of each Machine before the second ones',
      {
        machines: [
          controlPlane(
            'a',
            Array.from({ length: 8 }, (_, i) => `10.1.0.${i}`),
          ),
          ...Array.from({ length: 4 }, (_, i) => controlPlane(`b-${i}`, [`10.0.0.2${i}`, `fd00::${i}`])),
        ],
      },
      [
        VIP,
        ...['10.1.0.0 a', '10.0.0.20 b-0', '10.0.0.21 b-1', '10.0.0.22 b-2', '10.0.0.23 b-3'],
        ...['10.1.0.1 a', 'fd00:: b-0'],
      ],
    ],
    [
      'are seven of ten thousand Machines',
      {
        machines: Array.from({ length: 10_000 }, (_, i) =>
          controlPlane(`m-${String(i).padStart(5, '0')}`, `10.${i >> 8}.${i & 255}.1`),
        ),
      },
      [VIP, ...Array.from({ length: 7 }, (_, i) => `10.0.${i}.1 m-0000${i}`)],
    ],
    [
      'lead only the own address through the network of the load balancer',
      {
        clusters: [proxied({ networkIds: [LB_NETWORK, NETWORK] })],
        netns: [netns('qdhcp', LB_NETWORK), NETNS],
        machines: [controlPlane('cp-1', '10.0.0.11')],
      },
      [`${VIP} qdhcp-${LB_NETWORK}`, VIP, '10.0.0.11 cp-1'],
    ],
    [
      'are no Machines while the network of the cluster is unknown',
      { clusters: [{ ...proxied(), facts: factsWithoutNetwork() } as ClusterReading] },
      [VIP],
    ],
    [
      'go through each netns of the network, best first',
      { netns: [NETNS, netns('ovnmeta', NETWORK)], machines: [controlPlane('cp-1', '10.0.0.11')] },
      [`${VIP} ovnmeta-${NETWORK}`, VIP, `10.0.0.11 cp-1 ovnmeta-${NETWORK}`, '10.0.0.11 cp-1'],
    ],
  ];
  function factsWithoutNetwork(): ClusterFacts {
    const { facts } = proxied() as ClusterReading & { kind: 'proxied' };
    const { clusterNetworkId: _, ...rest } = facts;
    return rest;
  }
  for (const [sentence, facts, ways] of rows)
    test(sentence, () => {
      expect(waysOf(facts)).toEqual(ways);
    });

  test('are in the route only while they are up, the own address first', () => {
    const routed = (up: readonly string[]) => {
      const { routes, clusters, publications } = site({
        up,
        down: [VIP, '10.0.0.10'].map(key).filter((each) => !up.includes(each)),
      });
      return [
        routes.byServerName.get('kube-1')?.backends.map(({ address }) => address),
        clusters[0]?.state,
        publications[0]?.want,
      ];
    };
    expect(routed([VIP, '10.0.0.12', '10.0.0.11'].map(key))).toEqual([
      [VIP, '10.0.0.11', '10.0.0.12'],
      'serving',
      'live',
    ]);
    expect(routed([key('10.0.0.12')])).toEqual([['10.0.0.12'], 'serving', 'live']);
    expect(routed([])).toEqual([[], 'unhealthy', 'undecided']);
  });

  test('are not complete before the Machines were listed: until then no slice is withdrawn, also with a warm cache', () => {
    const cache = new TurnCache();
    const clusters = [proxied()];
    const want = (controlPlanesKnown: boolean, facts: SiteFacts = { down: [key(VIP)] }) =>
      desiredFor(worldFor({ clusters, machines: [], controlPlanesKnown, ...facts }), cache).publications[0]
        ?.want;
    expect([want(false), want(true)]).toEqual(['undecided', 'down']);
    expect(want(false, { up: [key(VIP)] })).toBe('live');
    expect(want(false, { netns: [] })).toBe('down');
  });

  test('have a certificate only if clients use them: a spare Machine with a foreign one changes nothing', () => {
    const certificate = (names: readonly string[]): CertificateReading => ({
      certificate: { names, omitted: 0, notAfterMs: Date.UTC(2099, 0, 1) },
      expiry: 'valid',
      error: null,
    });
    const certificates = new Map([
      [key(VIP), certificate(['kube-1', 'cp-1'])],
      [key('10.0.0.11'), certificate(['kube-1', 'cp-2'])],
      [key('10.0.0.12'), certificate(['nginx.local'])],
    ]);
    const names = (facts: SiteFacts) => site({ certificates, ...facts }).clusters[0]?.certificate?.names;
    const all = [VIP, '10.0.0.11', '10.0.0.12'].map(key);
    expect(names({ up: all })).toEqual(['kube-1', 'cp-1']);
    expect(names({ up: all.slice(1, 2), down: [key(VIP)] })).toEqual(['kube-1', 'cp-2']);
    expect(names({ up: all.slice(1), down: [key(VIP)] })).toEqual([]);
  });

  test('follow the Machines with a warm cache, and an unchanged cluster keeps its status', () => {
    const cache = new TurnCache();
    const clusters = [proxied()];
    let world: World | null = null;
    const turn = (machines: readonly MachineFacts[]) => {
      world = worldFor({ clusters, machines }, world);
      return desiredFor(world, cache).clusters[0];
    };
    const none = turn([]);
    const three = turn(THREE);
    expect([none?.backends.length, three?.backends.length]).toEqual([1, 4]);
    // A Machine of another cluster changed.
    expect(turn([...THREE, controlPlane('x', '10.0.0.77', { cluster: 'kube-2' })])).toBe(three);
    expect(turn(THREE.slice(1))?.backends.length).toBe(3);
  });

  test('stay while the object has no facts now; a restored object has none of its Machines in the previous network', () => {
    const endpoint = { directServer: 'https://192.0.2.7:6443' };
    const known = proxied() as ClusterReading & { kind: 'proxied' };
    const object = { ...known.facts.object!, ...endpoint };
    const before = worldFor({ clusters: [proxied({ object })], machines: THREE });
    const now = (changes: object) => {
      const clusters = [pendingCluster('kube-1', { object, clusterNetworkId: undefined, ...changes })];
      return desiredFor(worldFor({ clusters, machines: THREE }, before)).clusters[0]?.backends.length;
    };
    expect(now({})).toBe(4);
    expect(now({ object: { ...object, uid: 'another' } })).toBe(1);
    expect(now({ object: { ...object, uid: 'another', directServer: null } })).toBe(0);
  });
});

describe('a Machine', () => {
  const targets = (facts: SiteFacts) =>
    Object.fromEntries(site(facts).backends.map(({ address, way = 'server' }) => [address, way]));
  const rows: [sentence: string, facts: SiteFacts, ways: string][] = [
    ['is spare while the own address has no verdict', {}, 'spare spare spare'],
    ['is spare while the own address is up', { up: [key(VIP)] }, 'spare spare spare'],
    ['is needed while the own address is down', { down: [key(VIP)] }, 'needed needed needed'],
    [
      'is needed if the better Machines are down or unknown too',
      { down: [VIP, '10.0.0.10'].map(key) },
      'needed needed needed',
    ],
    [
      'is spare after a better Machine that is up',
      { down: [key(VIP)], up: [key('10.0.0.11')] },
      'needed needed spare',
    ],
  ];
  for (const [sentence, facts, ways] of rows)
    test(sentence, () => {
      const { [VIP]: server, ...machines } = targets(facts);
      expect([server, Object.values(machines).join(' ')]).toEqual(['server', ways]);
    });

  test('that reports the address of another API server does not slow its probes down', () => {
    const other = proxied({ key: `${NAMESPACE}/a-x`, name: 'a', address: '10.0.0.99' });
    const hostile = machine('evil', VIP, CONTROL_PLANE, { cluster: 'a' });
    const found = targets({
      clusters: [other, proxied()],
      machines: [hostile],
      up: [key(VIP), key('10.0.0.99')],
    });
    expect(found).toEqual({ '10.0.0.99': 'server', [VIP]: 'server' });
  });

  test('that a listener selects too stays a way, so its verdict and its route stay', () => {
    const api = { port: 17_043, targetPort: 6443, selector: { matchLabels: CONTROL_PLANE } };
    const found = site({ listeners: [listener('api', api)], up: [key(VIP)] }).backends;
    expect(found.map(({ address, way, check }) => [address, way, check])).toEqual(
      [[VIP, undefined, undefined], ...THREE.map((each) => [each.addresses[0], 'needed', undefined])].sort(
        ([a], [b]) => `${a}`.localeCompare(`${b}`),
      ),
    );
  });

  test('that two clusters have is needed if one of them needs it', () => {
    const other = proxied({ key: `${NAMESPACE}/a-x`, name: 'a', address: '10.0.0.99' });
    const shared = ['a', 'kube-1'].map((cluster) =>
      machine(`of-${cluster}`, '10.0.0.11', CONTROL_PLANE, { cluster }),
    );
    const found = targets({
      clusters: [other, proxied()],
      machines: shared,
      up: [key('10.0.0.99')],
      down: [key(VIP)],
    });
    expect(found['10.0.0.11']).toBe('needed');
  });
});
