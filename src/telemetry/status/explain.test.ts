import { describe, expect, test } from 'vitest';
import type { PublicationStatus } from '../../control/plan/plan.ts';
import { NO_TRAFFIC } from '../metrics/traffic.ts';
import { explain } from './explain.ts';
import { explanationText } from './explain-text.ts';
import type { LinkName, LinkState } from './explanation.ts';
import type { ClusterView, StatusView } from './status.ts';

const ID = '0f1e2d3c-1111-2222-3333-444455556666';
const AT = '2026-01-02T03:04:05.678Z';
const PROBE = { at: AT, ok: true, durationMs: 1.2, error: null };
const PUBLISHED: PublicationStatus = {
  service: 'ours',
  slice: 'ready',
  readyInstances: 1,
  kubeconfig: 'proxied',
  problem: null,
};
const BACKEND = { address: '10.0.0.5', port: 6443, netns: `qdhcp-${ID}`, up: true, lastProbe: PROBE };
const CLUSTER: ClusterView = {
  name: 'alpha',
  namespace: 'magnum-system',
  origin: 'OpenStackCluster magnum-system/alpha-abcde',
  state: 'serving',
  reason: 'answers',
  serverNames: ['alpha.magnum-system', 'alpha'],
  apiServer: { networkIds: [ID], address: '10.0.0.5', port: 6443 },
  netns: `qdhcp-${ID}`,
  backend: '10.0.0.5:6443',
  lastProbe: PROBE,
  connections: 2,
  traffic: NO_TRAFFIC,
  backends: [BACKEND],
  publication: PUBLISHED,
};
const KUBERNETES: NonNullable<StatusView['kubernetes']> = {
  server: 'https://api',
  identity: 'user "a"',
  instance: 'net-1',
  lease: 'held',
  liveness: 'lease',
  instances: 1,
  takesPart: true,
  takesPartBecause: 'every node takes part',
  staleSince: null,
  calls: {},
};
const VIEW: StatusView = {
  instance: 'net-1',
  version: '0.1.0',
  startedAt: '2026-01-02T03:04:05.678Z',
  uptimeSeconds: 60,
  listen: '0.0.0.0:6443',
  ready: true,
  notReadyBecause: null,
  connections: 2,
  pendingDials: 0,
  pressure: {},
  traffic: NO_TRAFFIC,
  kubernetes: KUBERNETES,
  control: { stalledSince: null, lagMs: 0.4, probesAt: null },
  clusters: [CLUSTER],
  problems: [],
  listeners: [],
};

type Parts = { readonly cluster?: Partial<ClusterView>; readonly view?: Partial<StatusView> };

function explained({ cluster = {}, view = {} }: Parts) {
  const found = explain({ ...VIEW, clusters: [{ ...CLUSTER, ...cluster }], ...view }, 'alpha');
  if (found.kind !== 'explained') throw new Error('not found');
  return found;
}
const down = (error: string | null, ok = false) => ({
  backends: [{ ...BACKEND, up: false, lastProbe: { ...PROBE, ok, error } }],
});
const without = (publication: Partial<PublicationStatus>) => ({
  publication: { ...PUBLISHED, ...publication },
});

test.each([
  ['ECONNREFUSED', /^Nothing listens there/],
  ['ETIMEDOUT', /^Packets get lost/],
  ['EHOSTUNREACH', /^Packets get lost/],
  ['ECONNRESET', /^A server answers there but does not complete the TLS/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', /^A server answers there but does not complete the TLS/],
  ['EMFILE', /^This node itself cannot dial: isthmus doctor/],
])('a backend that fails with %s has its own advice', (error, advice) => {
  expect(explained({ cluster: { state: 'unhealthy', ...down(error) } }).broken?.next).toMatch(advice);
});

describe('more than one way to the API server', () => {
  const way = (machine: string, address: string, up: boolean, lastProbe: typeof PROBE | null = PROBE) => ({
    ...{ ...BACKEND, address, machine, up, lastProbe },
  });
  const failed = { ...PROBE, ok: false, error: 'ETIMEDOUT' as never };
  const backendOf = (backends: ClusterView['backends']) =>
    explained({ cluster: { backends } }).chain.find(({ link }) => link === 'backend');
  const cp1 = way('cp-1', '10.0.0.11', true);
  const cp2 = way('cp-2', '10.0.0.12', false, failed);
  const cp3 = way('cp-3', '10.0.0.13', false, null);

  test('is shown with the state of each way, and with the one that new clients use', () => {
    expect(backendOf([BACKEND, cp1, cp2, cp3])).toMatchObject({
      state: 'ok',
      says:
        `10.0.0.5:6443 in qdhcp-${ID} is up (passed in 1.2 ms at ${AT}), new clients use it; ` +
        `Machine cp-1 at 10.0.0.11:6443 in qdhcp-${ID} is up (passed in 1.2 ms at ${AT}); ` +
        `Machine cp-2 at 10.0.0.12:6443 in qdhcp-${ID} is down (ETIMEDOUT at ${AT}); ` +
        `Machine cp-3 at 10.0.0.13:6443 in qdhcp-${ID} was not checked yet`,
    });
    const dead = { ...BACKEND, up: false, lastProbe: failed };
    expect(backendOf([dead, cp2, cp1])?.says).toMatch(
      /cp-1 at \S+ in \S+ is up \([^)]+\), new clients use it$/,
    );
    expect(backendOf([dead, cp2])).toMatchObject({ state: 'broken' });
    expect(backendOf([dead, cp2])?.says).not.toContain('new clients');
  });

  test('names each netns once', () => {
    const { chain } = explained({ cluster: { backends: [BACKEND, cp1, cp2] } });
    expect(chain.find(({ link }) => link === 'netns')?.says).toBe(`qdhcp-${ID}`);
  });

  test('is missing, with a note, if the Machines are unreadable', () => {
    const controlPlanesProblem = 'list machines: forbidden';
    const { notes, broken } = explained({ view: { kubernetes: { ...KUBERNETES, controlPlanesProblem } } });
    expect(broken).toBeNull();
    expect(notes.join()).toMatch(
      /Machines of control planes are unreadable, so ways .* list machines: forbidden/,
    );
  });
});

test('a cluster whose links are all ok is reachable', () => {
  const { reachable, broken, summary, chain } = explained({});
  expect({ reachable, broken, summary }).toEqual({
    reachable: true,
    broken: null,
    summary: 'alpha is reachable through net-1',
  });
  expect(chain.map(({ link, state }) => `${link} ${state}`)).toEqual([
    'object ok',
    'proxied ok',
    'name ok',
    'network ok',
    'netns ok',
    'backend ok',
    'route ok',
    'service ok',
    'slice ok',
    'kubeconfig ok',
  ]);
});

describe('the first broken link', () => {
  const absent = without({ slice: 'absent', readyInstances: 0, kubeconfig: 'direct' });
  test.each<[title: string, parts: Parts, link: LinkName, says: string, next: string]>([
    [
      'not proxied',
      { cluster: { state: 'not-proxied', reason: 'it has a floating IP', serverNames: [], backends: [] } },
      'proxied',
      'it has a floating IP',
      'disableAPIServerFloatingIP',
    ],
    [
      'a name that is not valid',
      {
        cluster: {
          state: 'invalid',
          reason: 'a.b is not a valid name for a Service',
          serverNames: [],
          backends: [],
        },
      },
      'name',
      'not a valid name for a Service',
      'label cluster.x-k8s.io/cluster-name',
    ],
    [
      'facts that are missing',
      {
        cluster: {
          state: 'pending',
          reason: 'status.network.id is missing',
          apiServer: undefined as never,
          backends: [],
        },
      },
      'network',
      'status.network.id is missing',
      'OpenStack provider',
    ],
    [
      'no netns',
      { cluster: { state: 'no-netns', reason: 'no netns on this host', backends: [], ...absent } },
      'netns',
      'no netns on this host',
      'a node that hosts this network',
    ],
    [
      'a backend that refuses',
      { cluster: { state: 'unhealthy', ...down('ECONNREFUSED'), ...absent } },
      'backend',
      `10.0.0.5:6443 in qdhcp-${ID} is down (ECONNREFUSED at ${AT})`,
      `Nothing listens there: is the API server, or its load balancer, up? By hand: ip netns exec qdhcp-${ID} curl -ksS https://10.0.0.5:6443/livez`,
    ],
    [
      'a backend that is silent',
      { cluster: { state: 'unhealthy', ...down('ETIMEDOUT'), ...absent } },
      'backend',
      'ETIMEDOUT',
      'security groups',
    ],
    [
      'a backend that is coming up',
      { cluster: { state: 'unhealthy', ...down(null, true), ...absent } },
      'backend',
      'is coming up (passed in 1.2 ms',
      'Wait',
    ],
    [
      'a backend that was never checked',
      { cluster: { state: 'unhealthy', backends: [{ ...BACKEND, up: false, lastProbe: null }], ...absent } },
      'backend',
      'was not checked yet',
      'Wait',
    ],
    [
      'an instance that drains',
      { view: { ready: false, notReadyBecause: 'draining' } },
      'route',
      'draining',
      'isthmus status',
    ],
    [
      'a foreign Service',
      { cluster: without({ service: 'foreign', slice: 'absent', problem: 'Service a/alpha is not ours' }) },
      'service',
      'Service a/alpha is not ours',
      'Rename or remove',
    ],
    [
      'a Service that cannot be written',
      { cluster: without({ service: 'absent', slice: 'absent' }) },
      'service',
      'there is no Service alpha',
      'isthmus doctor',
    ],
    [
      'a slice without an address of ours',
      { cluster: without({ slice: 'absent', readyInstances: 0, problem: 'there is no default route' }) },
      'slice',
      'there is no default route',
      'isthmus status',
    ],
    [
      'a Lease that another process holds',
      { cluster: without({ slice: 'absent' }), view: { kubernetes: { ...KUBERNETES, lease: 'lost' } } },
      'slice',
      'another process holds the Lease',
      '--node-name',
    ],
    [
      'a Lease that is not held yet',
      { cluster: without({ slice: 'absent' }), view: { kubernetes: { ...KUBERNETES, lease: 'not-yet' } } },
      'slice',
      'does not hold the Lease of its node yet',
      'isthmus doctor',
    ],
    [
      'a kubeconfig that leads elsewhere',
      { cluster: without({ kubeconfig: 'direct' }) },
      'kubeconfig',
      'Secret alpha-kubeconfig does not point to the Service yet',
      'first instance',
    ],
  ])('%s', (_title, parts, link, says, next) => {
    const { broken, chain, reachable } = explained(parts);
    expect(broken?.link).toBe(link);
    expect(broken?.says).toContain(says);
    expect(broken?.next).toContain(next);
    expect(reachable).toBe(['service', 'slice', 'kubeconfig'].includes(link));
    // One cause, not ten: the links after the broken one are not reported as broken.
    const after = chain.slice(chain.findIndex((each) => each.link === link) + 1);
    expect(after.filter(({ state }) => state === 'broken')).toEqual([]);
  });
});

test.each<[kubeconfig: PublicationStatus['kubeconfig'], state: LinkState]>([
  ['absent', 'apart'],
  ['left-alone', 'apart'],
  ['unread', 'broken'],
  ['proxied', 'ok'],
])('a kubeconfig that is %s: %s', (kubeconfig, state) => {
  expect(explained({ cluster: without({ kubeconfig }) }).chain.at(-1)).toMatchObject({
    link: 'kubeconfig',
    state,
  });
});

test('an instance that takes no part is not broken: clients are sent elsewhere', () => {
  const takesPartBecause = 'Node net-1 is not selected';
  const { broken, chain } = explained({
    cluster: without({ slice: 'absent', readyInstances: 1 }),
    view: { kubernetes: { ...KUBERNETES, takesPart: false, takesPartBecause } },
  });
  expect(broken).toBeNull();
  expect(chain.find(({ link }) => link === 'slice')).toMatchObject({
    state: 'apart',
    says: "this instance's slice is absent, 1 ready in all: this instance does not take part (Node net-1 is not selected)",
  });
});

test('a route that is kept although its object lost its data works, and the explanation notes it', () => {
  const { reachable, chain } = explained({
    cluster: { state: 'pending', reason: 'no status after a restore' },
  });
  expect(reachable).toBe(true);
  expect(chain[3]?.says).toContain('as last known: no status after a restore');
});

test('the chain ends with the route if clusters come from files', () => {
  expect(explained({ view: { kubernetes: null } }).chain.at(-1)?.link).toBe('route');
});

test('the summary names the number of other instances that serve the cluster', () => {
  const cluster = { ...down('ETIMEDOUT'), ...without({ slice: 'absent', readyInstances: 2 }) };
  expect(explained({ cluster }).summary).toBe(
    'alpha is not reachable through net-1; 2 other instances serve it',
  );
});

test('clients refused or evicted under pressure are noted with their count and the flag', () => {
  const found = explained({ view: { pressure: { 'evicted-hello': 7 } } });
  expect(found.notes).toEqual([expect.stringMatching(/^7 since .*evicted-hello.*--max-connections/)]);
});

test('an unused network of spec is noted with the reason and the flag', () => {
  const other = 'c4f0a1d2-7b36-4e58-9f10-2a6b8c0d4e5f';
  const found = explained({ cluster: { unusedSpecNetworkId: other } });
  expect(found.notes).toEqual([
    `network ${other} in spec was not used: no field of status names it, and a tenant can write any id into spec; ` +
      'where no tenant can write OpenStackClusters, --trust-spec-network uses it',
  ]);
  expect(explained({}).notes).toEqual([]);
});

test('old data and other objects of the same name are noted', () => {
  const found = explain(
    {
      ...VIEW,
      control: { stalledSince: AT, lagMs: 6000, probesAt: null },
      kubernetes: { ...KUBERNETES, staleSince: AT },
      clusters: [{ ...CLUSTER, origin: 'b', state: 'invalid', reason: 'taken', serverNames: [] }, CLUSTER],
    },
    'alpha',
  );
  expect(found).toMatchObject({
    reachable: true,
    notes: [
      expect.stringContaining('control loop has not answered'),
      expect.stringContaining('Kubernetes API has been stale'),
      'b has the same name: taken',
    ],
  });
});

test.each(['alpha', 'ALPHA', 'alpha.magnum-system', 'Alpha.magnum-system.', 'alpha-abcde'])(
  '%s is found',
  (asked) => {
    expect(explain(VIEW, asked)).toMatchObject({ kind: 'explained', cluster: 'alpha' });
  },
);

test.each<[asked: string, nearest: string[]]>([
  ['alpah', ['alpha']],
  ['alph', ['alpha']],
  ['my-alpha', ['alpha']],
  ['zzz', []],
  ['x', []],
])('%s is unknown', (asked, nearest) => {
  expect(explain(VIEW, asked)).toEqual({ kind: 'unknown', asked, nearest, known: 1 });
});

describe('as text', () => {
  test('the answer comes first, then what to do, then the chain', () => {
    const absent = without({ slice: 'absent', readyInstances: 0, kubeconfig: 'direct' });
    const text = explanationText(
      explained({ cluster: { state: 'unhealthy', ...down('ECONNREFUSED'), ...absent } }),
    );
    expect(text).toBe(`alpha is not reachable through net-1
  backend: 10.0.0.5:6443 in qdhcp-${ID} is down (ECONNREFUSED at
    ${AT})
  -> Nothing listens there: is the API server, or its load balancer, up? By hand: ip netns exec
     qdhcp-${ID} curl -ksS https://10.0.0.5:6443/livez

  ok      object      read from OpenStackCluster magnum-system/alpha-abcde
  ok      proxied     its API server has no floating IP, or --proxy-always is set
  ok      name        alpha.magnum-system, alpha
  ok      network     10.0.0.5 port 6443 in network ${ID}
  ok      netns       qdhcp-${ID}
  BROKEN  backend     10.0.0.5:6443 in qdhcp-${ID} is down
                      (ECONNREFUSED at ${AT})
  waits   route       clients get a TLS alert: the name is unknown, or the cluster is unavailable
  ok      service     isthmus maintains the Service alpha
  waits   slice       this instance's slice is absent, 0 ready in all
  waits   kubeconfig  Secret alpha-kubeconfig does not point to the Service
`);
  });

  test('an unknown name is answered with similar names', () => {
    expect(explanationText(explain(VIEW, 'alpah'))).toContain(
      'no cluster is named "alpah"; did you mean alpha?\n  1 cluster is known here',
    );
  });

  test('the name in the request cannot forge a line', () => {
    expect(explanationText(explain(VIEW, 'a\nb')).split('\n')[0]).toBe('no cluster is named "a\\nb"');
  });
});
