// Decisions about additional listeners: their members, the path to each member, and the state of the listener.

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
import { ModelApi } from '../../../test/support/kubernetes/model-api.ts';
import { TurnCache } from '../objects/turn-cache.ts';
import type { ClusterReading } from '../sources/cluster-source.ts';
import { conditionText } from './listener-status.ts';

const WORKER = { role: 'worker' };
const OPEN = { kind: 'open', port: 17_001 } as const;
const decided = (facts: SiteFacts, cache = new TurnCache()) => desiredFor(worldFor(facts), cache);
const one = (facts: SiteFacts, cache?: TurnCache) => {
  const desired = decided(facts, cache);
  const [status] = desired.listeners;
  if (status === undefined) throw new Error('there is no listener');
  return { ...desired, status };
};
const states = (facts: SiteFacts) =>
  Object.fromEntries(one(facts).status.members.map(({ machine: name, state }) => [name, state]));

describe('a TCP listener', () => {
  const site: SiteFacts = {
    listeners: [listener('ssh')],
    machines: [
      machine('w-2', '10.0.0.12', WORKER),
      machine('w-1', '10.0.0.11', WORKER),
      machine('other', '10.0.0.13'),
      machine('elsewhere', '10.0.0.14', WORKER, { cluster: 'kube-2' }),
    ],
    up: [keyAt('10.0.0.11'), keyAt('10.0.0.12')],
    ports: { ssh: OPEN },
  };

  test('routes to all matching machines of its cluster while the API server is unknown', () => {
    const { status, ports, publications, routes, clusters } = one(site);
    expect(clusters[0]?.state).toBe('pending');
    expect(status).toMatchObject({
      state: 'serving',
      reason: '2 of 2 machines answer',
      service: 'kube-1-ssh',
      listenPort: 17_001,
      serverNames: [],
    });
    expect(ports).toHaveLength(1);
    expect(ports[0]).toMatchObject({
      name: `${NAMESPACE}/ssh`,
      preferredPort: 17_001,
      route: {
        cluster: 'kube-1',
        backends: [{ address: '10.0.0.11', port: 22 }, { address: '10.0.0.12' }],
        pool: { listener: `${NAMESPACE}/ssh`, allowedCidrs: [] },
      },
    });
    expect(routes.byServerName.has('kube-1-ssh')).toBe(false);
    expect(publications.find(({ listener: of }) => of !== undefined)).toMatchObject({
      cluster: 'kube-1',
      want: 'live',
      hasNetns: true,
      listener: { service: 'kube-1-ssh', port: 22, listenPort: 17_001 },
    });
  });

  test('has all paths to all members probed by TCP', () => {
    expect(one({ ...site, up: [] }).backends).toMatchObject([
      { key: keyAt('10.0.0.11'), check: 'tcp' },
      { key: keyAt('10.0.0.12'), check: 'tcp' },
    ]);
  });

  test('is unhealthy if no member answers, and names the members', () => {
    const { status, publications } = one({
      ...site,
      up: [],
      down: [keyAt('10.0.0.11'), keyAt('10.0.0.12')],
    });
    expect(status.state).toBe('unhealthy');
    expect(status.reason).toBe('none of its machines is ready');
    expect(status.detail).toMatch(/^w-1 .*ECONNREFUSED\); w-2 /);
    expect(publications.at(-1)?.want).toBe('down');
  });

  test.each<[string, SiteFacts, string, RegExp, string]>([
    ['before its members were probed', { up: [] }, 'unhealthy', /not checked yet/, 'undecided'],
    ['before its port is open', { ports: {} }, 'pending', /its port is not open yet/, 'undecided'],
    [
      'without a port',
      { ports: { ssh: { kind: 'failed', reason: 'the range 1-2 is full' } } },
      'pending',
      /the range 1-2 is full/,
      'down',
    ],
    ['that matches nothing', { machines: [] }, 'no-members', /no machine of kube-1 matches/, 'down'],
    ['without a netns here', { netns: [] }, 'no-netns', /no netns on this host/, 'down'],
    [
      'before machines were listed',
      { machines: [], snapshot: { machinesKnown: false } },
      'pending',
      /not been listed yet/,
      'undecided',
    ],
    [
      'without the right to read machines',
      { machines: [], snapshot: { machinesKnown: false, machinesProblem: 'forbidden: cannot list' } },
      'pending',
      /cannot be read: forbidden/,
      'undecided',
    ],
    [
      'before its network is known',
      { clusters: [pendingCluster('kube-1', { clusterNetworkId: undefined })] },
      'pending',
      /network of cluster kube-1 is not known/,
      'undecided',
    ],
  ])('%s', (_title, changes, state, reason, want) => {
    const { status, publications } = one({ ...site, ...changes });
    expect(status.state).toBe(state);
    expect(conditionText(status)).toMatch(reason);
    expect(publications.find(({ listener: of }) => of !== undefined)?.want).toBe(want);
  });

  test.each<[string, SiteFacts]>([
    ['there is no such cluster (yet)', { clusters: [] }],
    [
      'the cluster is in another namespace',
      { clusters: [pendingCluster('kube-1', { namespace: 'tenant' })] },
    ],
  ])('waits while %s, and nothing is published', (_title, changes) => {
    const { status, publications, ports } = one({ ...site, ...changes });
    expect(status).toMatchObject({ state: 'pending', members: [] });
    expect(status.reason).toBe(`there is no cluster kube-1 in namespace ${NAMESPACE} (yet)`);
    expect([publications.filter(({ listener: of }) => of), ports]).toEqual([[], []]);
  });

  test('works for a cluster that is not proxied, and for an invalid cluster', () => {
    for (const kind of ['not-proxied', 'invalid'] as const)
      expect(one({ ...site, clusters: [pendingCluster('kube-1', { kind })] }).status.state).toBe('serving');
  });

  test('works for a cluster that is not proxied although another namespace claims its name', () => {
    const own = pendingCluster('kube-1', { kind: 'not-proxied' });
    for (const kind of ['pending', 'invalid'] as const) {
      const rival = pendingCluster('kube-1', { namespace: 'tenant', kind });
      expect(one({ ...site, clusters: [own, rival] }).status.state).toBe('serving');
    }
  });

  test('prefers the port of its own slice, and requests none before slices are listed', () => {
    const api = new ModelApi();
    api.put('slices', {
      metadata: {
        name: 'kube-1-ssh-net-1',
        labels: {
          'isthmus.dev/resource-owner': 'kube-1',
          'isthmus.dev/instance': 'net-1',
          'endpointslice.kubernetes.io/managed-by': 'isthmus.dev',
          'isthmus.dev/listener-service': 'kube-1-ssh',
        },
        annotations: {
          'isthmus.dev/resource-owner': 'kube-1',
          'isthmus.dev/listener': `${NAMESPACE}/ssh`,
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
      ports: [{ name: 'listener', port: 17_042, protocol: 'TCP' }],
    });
    const without = { ...site, ports: {} };
    expect(one({ ...without, kube: api.seenBy({}) }).ports[0]?.preferredPort).toBe(17_042);
    expect(one({ ...without, kube: api.seenBy({}, {}, false) }).ports).toEqual([]);
    expect(one({ ...without, kube: api.seenBy({ instance: 'net-2' }) }).ports[0]?.preferredPort).toBeNull();
  });

  test('prefers the port of its manifest if nothing is published', () => {
    const file = listener('ssh', { port: 17_042, targetPort: 22 });
    expect(one({ ...site, ports: {}, listeners: [file] }).ports[0]?.preferredPort).toBe(17_042);
  });
});

describe('a TLS listener', () => {
  const site: SiteFacts = {
    listeners: [listener('web', { protocol: 'TLS', port: 443, allowedCIDRs: ['10.0.0.0/8'] })],
    machines: [machine('w-1', '10.0.0.11', WORKER)],
    up: [keyAt('10.0.0.11', 443)],
  };

  test('is reached by the server names of its Service, and needs no port', () => {
    const { status, routes, ports, publications } = one(site);
    const names = ['kube-1-web.magnum-system', 'kube-1-web'];
    names.push('kube-1-web.magnum-system.svc', 'kube-1-web.magnum-system.svc.cluster.local');
    expect(status).toMatchObject({ state: 'serving', serverNames: names, listenPort: null });
    for (const name of names)
      expect(routes.byServerName.get(name)).toMatchObject({
        backends: [{ address: '10.0.0.11', port: 443 }],
        pool: { allowedCidrs: ['10.0.0.0/8'] },
      });
    expect(ports).toEqual([]);
    expect(publications.at(-1)).toMatchObject({ want: 'live', listener: { listenPort: 'shared' } });
  });

  test('gets another name, with a reason, if a cluster has the better claim', () => {
    const older: ClusterReading = {
      kind: 'proxied',
      facts: {
        key: 'magnum-system/older',
        name: 'kube-1-web',
        namespace: 'magnum-system',
        origin: 'older',
        createdAtMs: 1,
        networkIds: [],
        address: '10.0.0.5',
        port: 6443,
      },
    };
    const { status, routes } = one({ ...site, clusters: [pendingCluster('kube-1'), older] });
    expect(status.service).toMatch(/^kube-1-web-[0-9a-f]{10}$/);
    expect(status.nameConflict).toMatch(/^the cluster name kube-1-web belongs to .* which is older$/);
    expect(routes.byServerName.get('kube-1-web.magnum-system')?.pool).toBeUndefined();
    expect(routes.byServerName.get('kube-1-web.magnum-system')?.cluster).toBe('kube-1-web');
  });

  test('keeps its name and its server names if a cluster that was never valid claims them', () => {
    const clusters = [
      pendingCluster('kube-1'),
      pendingCluster('kube-1-web', { createdAtMs: 1, kind: 'invalid' }),
    ];
    const { status, routes, clusters: statuses } = one({ ...site, clusters });
    expect(status).toMatchObject({ service: 'kube-1-web' });
    expect(status.nameConflict).toBeUndefined();
    expect(routes.byServerName.get('kube-1-web.magnum-system')?.pool?.listener).toBe('magnum-system/web');
    expect(statuses.find(({ name }) => name === 'kube-1-web')).toMatchObject({
      state: 'invalid',
      reason: expect.stringContaining('belongs to AdditionalListener magnum-system/web'),
    });
  });
});

describe('members', () => {
  const site = (...machines: ReturnType<typeof machine>[]): SiteFacts => ({
    listeners: [listener('ssh')],
    machines,
    up: [keyAt('10.0.0.11'), keyAt('fd00::11')],
    ports: { ssh: OPEN },
  });

  test('a machine without an address is NotReady, with a reason', () => {
    const { status } = one(site(machine('w-1', [], WORKER, { phase: 'Provisioning' })));
    expect(status.members).toMatchObject([
      { state: 'NotReady', key: null, address: null, reason: expect.stringMatching(/Provisioning/) },
    ]);
  });

  test('an address that two machines share appears once in the route', () => {
    const { status, ports } = one(
      site(machine('w-1', '10.0.0.11', WORKER), machine('w-2', '10.0.0.11', WORKER)),
    );
    expect(status.members.map(({ state }) => state)).toEqual(['Ready', 'Ready']);
    expect(ports[0]?.route.backends).toHaveLength(1);
  });

  test('all addresses are probed, and the first that answers is used', () => {
    const { ports, backends } = one(site(machine('w-1', ['10.0.0.99', 'fd00::11', '10.0.0.11'], WORKER)));
    expect(ports[0]?.route.backends).toMatchObject([{ address: 'fd00::11' }]);
    expect(backends).toHaveLength(3);
  });

  test('only the best netns that answers is used', () => {
    const best = { name: `ovnmeta-${NETWORK}`, path: `/run/netns/ovnmeta-${NETWORK}`, identity: 'cookie:2' };
    const facts = { ...site(machine('w-1', '10.0.0.11', WORKER)), netns: [NETNS, best] };
    const there = `10.0.0.11:22@${best.path}#${best.identity}`;
    expect(one({ ...facts, up: [there, keyAt('10.0.0.11')] }).ports[0]?.route.backends).toMatchObject([
      { netns: { path: best.path } },
    ]);
    expect(one({ ...facts, up: [keyAt('10.0.0.11')] }).ports[0]?.route.backends).toMatchObject([
      { netns: { path: NETNS.path } },
    ]);
  });

  test('a machine that is being deleted leaves the pool without a gap for the others', () => {
    const stays = machine('w-1', '10.0.0.11', WORKER);
    const goes = machine('w-2', '10.0.0.11', WORKER, { deleting: true });
    expect(states(site(stays, goes))).toEqual({ 'w-1': 'Ready' });
    expect(states(site(stays, machine('w-2', '10.0.0.12', WORKER, { phase: 'Deleting' })))).toEqual({
      'w-1': 'Ready',
    });
  });

  test('machines are never dialled through the network of the load balancer', () => {
    const SHARED = 'c4f0a1d2-7b36-4e58-9f10-2a6b8c0d4e5f';
    const proxied = {
      kind: 'proxied' as const,
      facts: {
        key: `${NAMESPACE}/kube-1-x`,
        name: 'kube-1',
        namespace: NAMESPACE,
        origin: 'kube-1',
        networkIds: [SHARED, NETWORK],
        clusterNetworkId: NETWORK,
        address: '10.0.0.5',
        port: 6443,
      },
    };
    const shared = { name: `qdhcp-${SHARED}`, path: `/run/netns/qdhcp-${SHARED}`, identity: '9' };
    const facts = { ...site(machine('w-1', '10.0.0.11', WORKER)), netns: [shared, NETNS] };
    const { backends } = one({ ...facts, clusters: [proxied] });
    expect(backends.filter(({ port }) => port === 22)).toHaveLength(1);
    expect(backends.filter(({ port }) => port === 6443)).toHaveLength(2);
  });
});

describe('five thousand machines', () => {
  const MANY = 5000;
  const addressOf = (i: number) => `10.1.${i >> 8}.${i & 255}`;
  const machines = Array.from({ length: MANY }, (_, i) => machine(`m-${i}`, addressOf(i), { any: 'thing' }));
  const every = { matchExpressions: [{ key: 'absent-label', operator: 'DoesNotExist' }] };
  const facts: SiteFacts = {
    listeners: [listener('all', { selector: every })],
    machines,
    up: machines.map((_, i) => keyAt(addressOf(i))),
    ports: { all: OPEN },
  };

  // bench/control/listeners-turn.ts measures the cost of such a turn.
  test('all match one selector, and the next turn reuses all member objects', () => {
    const cache = new TurnCache();
    const [first, second] = [one(facts, cache), one(facts, cache)];
    expect(first.status.reason).toBe(`${MANY} of ${MANY} machines answer`);
    expect(first.ports[0]?.route.backends).toHaveLength(MANY);
    expect(second.status.members.every((member, i) => member === first.status.members[i])).toBe(true);
    expect(second.backends.every((target, i) => target === first.backends[i])).toBe(true);
  });

  test('keep their member objects when one machine changes its label', () => {
    const cache = new TurnCache();
    const first = one(facts, cache);
    const changed = machines.with(7, machine('m-7', addressOf(7), { 'absent-label': 'present' }));
    const { status } = one({ ...facts, machines: changed }, cache);
    expect(status.members).toHaveLength(MANY - 1);
    const before = new Set(first.status.members);
    expect(status.members.every((member) => before.has(member))).toBe(true);
  });
});

describe('rollouts', () => {
  const blue = machine('blue', '10.0.0.11', { role: 'worker', generation: 'blue' });
  const green = machine('green', '10.0.0.12', { role: 'worker', generation: 'green' });
  const at = (generation: string) => [
    listener('active', { rolloutLabels: { generation } }),
    listener('preview', { rolloutLabels: { generation: 'green' } }),
  ];
  const site = (generation: string, machines = [blue, green]): SiteFacts => ({
    listeners: at(generation),
    machines,
    up: [keyAt('10.0.0.11'), keyAt('10.0.0.12')],
    ports: { active: OPEN, preview: { kind: 'open', port: 17_002 } },
  });
  const routed = (facts: SiteFacts) =>
    decided(facts).ports.map(({ route }) => route.backends.map(({ address }) => address));

  test('active and preview have the same port and separate Services', () => {
    const { listeners } = decided(site('blue'));
    expect(listeners.map(({ service, port, state }) => [service, port, state])).toEqual([
      ['kube-1-active', 22, 'serving'],
      ['kube-1-preview', 22, 'serving'],
    ]);
  });

  test('the machines of the next rollout are Ignored: they are probed, but get no clients', () => {
    expect(states(site('blue'))).toEqual({ blue: 'Ready', green: 'Ignored' });
    expect(routed(site('blue'))).toEqual([['10.0.0.11'], ['10.0.0.12']]);
    expect(one(site('blue')).status.reason).toBe('1 of 1 machines answers; 1 of another rollout (Ignored)');
  });

  test('a promotion and a demotion change the route in the same turn', () => {
    expect(routed(site('green'))).toEqual([['10.0.0.12'], ['10.0.0.12']]);
    expect(states(site('green'))).toEqual({ blue: 'Ignored', green: 'Ready' });
    const relabelled = machine('green', '10.0.0.12', { role: 'worker', generation: 'blue' });
    expect(routed(site('blue', [blue, relabelled]))[0]).toEqual(['10.0.0.11', '10.0.0.12']);
  });

  test('an Ignored member that does not answer does not make the listener unhealthy', () => {
    const facts = { ...site('blue'), up: [keyAt('10.0.0.11')], down: [keyAt('10.0.0.12')] };
    const { status } = one(facts);
    expect(status.state).toBe('serving');
    expect(status.members.map(({ state, up }) => [state, up])).toEqual([
      ['Ready', true],
      ['Ignored', false],
    ]);
  });

  test('a listener with only Ignored members has the state no-members', () => {
    const { status, publications } = one(site('red'));
    expect(status).toMatchObject({
      state: 'no-members',
      reason: 'no machine of kube-1 matches',
      detail: '2 of another rollout (Ignored)',
    });
    expect(publications.find(({ listener: of }) => of?.service === 'kube-1-active')?.want).toBe('down');
  });
});
