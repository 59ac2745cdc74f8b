import { beforeEach, describe, expect, test } from 'vitest';
import { servedRecord } from '../../../test/support/connection-records.ts';
import type { ClusterState } from '../../control/desired/cluster-status.ts';
import type { ListenerStatus, MemberState } from '../../control/desired/listener-status.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { ConnectionRecord } from '../../proxy/connection-record.ts';
import { Metrics } from './metrics.ts';

const RECORD = servedRecord();

const cluster = (name: string, state: ClusterState, parts: Partial<ShownCluster> = {}): ShownCluster => ({
  name,
  namespace: 'magnum-system',
  origin: `${name}.yaml`,
  state,
  reason: state,
  serverNames: [],
  backends: [],
  ...parts,
});

let clusters: ShownCluster[];
let open: Map<string, number>;
let isReady: boolean;
let listeners: ListenerStatus[];
let openPerListener: Map<string, number>;
let metrics: Metrics;
beforeEach(() => {
  clusters = [];
  open = new Map();
  isReady = false;
  listeners = [];
  openPerListener = new Map();
  metrics = new Metrics({
    version: '1.2.3',
    engineStats: () => ({ connections: 5, pendingDials: 2, helloMemoryBytes: 4096, netnsHandles: 3 }),
    clusters: () => clusters,
    connectionsPerCluster: () => open,
    listeners: () => listeners,
    connectionsPerListener: () => openPerListener,
    ready: () => isReady,
    controlLagMs: () => 1500,
    problems: () => [{ origin: 'b.yaml', reason: 'not YAML' }],
    kubernetes: null,
  });
});

/** The isthmus samples of Prometheus' text format; throws on an invalid line. */
async function samples(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  const declared = new Set<string>();
  for (const line of (await metrics.registry.text()).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) .+$/.exec(line);
    if (comment !== null) declared.add(comment[2] as string);
    if (comment !== null || line === '') continue;
    const sample = /^([a-zA-Z_:][\w:]*)((?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})?) (\S+)$/.exec(line);
    if (sample === null) throw new Error(`no sample: ${line}`);
    const [, name, labels, value] = sample as unknown as [string, string, string, string];
    if (!declared.has(name.replace(/_(bucket|sum|count)$/, '')) && !declared.has(name))
      throw new Error(`undeclared: ${line}`);
    if (name.startsWith('isthmus_')) found[`${name}${labels}`] = Number(value);
  }
  return found;
}

const named = (all: Record<string, number>, name: string) =>
  Object.fromEntries(Object.entries(all).filter(([key]) => key === name || key.startsWith(`${name}{`)));

test('an instance that has done nothing yet has its gauges', async () => {
  expect(await samples()).toMatchObject({
    'isthmus_build_info{version="1.2.3"}': 1,
    isthmus_ready: 0,
    isthmus_connections: 5,
    isthmus_pending_dials: 2,
    isthmus_hello_memory_bytes: 4096,
    isthmus_netns_handles: 3,
    isthmus_problems: 1,
    isthmus_route_tables_total: 0,
    'isthmus_clusters{state="serving"}': 0,
  });
  isReady = true;
  expect(await samples()).toMatchObject({ isthmus_ready: 1 });
});

test('the process is measured too', async () => {
  const text = await metrics.registry.text();
  for (const name of ['process_resident_memory_bytes', 'process_open_fds', 'nodejs_heap_size_used_bytes'])
    expect(text).toMatch(new RegExp(`^${name} \\d+`, 'm'));
});

test('CPU time is that of the process since its start, however often it is scraped', async () => {
  const seconds = async () =>
    Number(/^process_cpu_seconds_total (\S+)$/m.exec(await metrics.registry.text())?.[1]);
  const before = process.cpuUsage();
  const first = await seconds();
  const second = await seconds();
  const after = process.cpuUsage();
  expect(first).toBeGreaterThanOrEqual((before.user + before.system) / 1e6);
  expect(second).toBeGreaterThanOrEqual(first);
  expect(second).toBeLessThanOrEqual((after.user + after.system) / 1e6);
});

test('metrics show how late the control thread answers and how long its turns take', async () => {
  metrics.controlTurns([2, 40]);
  metrics.controlTurns([]);
  const found = await samples();
  expect(named(found, 'isthmus_control_loop_lag_seconds')).toEqual({ isthmus_control_loop_lag_seconds: 1.5 });
  expect(found.isthmus_control_turn_seconds_count).toBe(2);
  expect(found.isthmus_control_turn_seconds_sum).toBeCloseTo(0.042);
});

test('two instances in one process share nothing', async () => {
  const sources = {
    version: 'x',
    engineStats: () => expect.fail('not asked'),
    clusters: () => [],
    connectionsPerCluster: () => open,
    listeners: () => [],
    connectionsPerListener: () => new Map(),
    problems: () => [],
    kubernetes: null,
    ready: () => true,
    controlLagMs: () => 0,
  };
  const other = new Metrics(sources);
  other.dialFailed('ECONNREFUSED');
  expect(named(await samples(), 'isthmus_dial_failures_total')).toEqual({});
});

describe('connections', () => {
  test('are counted by how and why they ended, with their duration and their bytes', async () => {
    metrics.connectionEnded(RECORD);
    metrics.connectionEnded(RECORD);
    metrics.connectionEnded({
      ...RECORD,
      outcome: 'alert-sent',
      reason: 'no-healthy-backend',
      backend: null,
      durationMs: 1,
    });
    const all = await samples();
    expect(named(all, 'isthmus_connections_ended_total')).toEqual({
      'isthmus_connections_ended_total{outcome="finished",reason="finished"}': 2,
      'isthmus_connections_ended_total{outcome="alert-sent",reason="no-healthy-backend"}': 1,
    });
    expect(all).toMatchObject({
      'isthmus_connection_duration_seconds_sum{outcome="finished"}': 3,
      'isthmus_connection_duration_seconds_count{outcome="finished"}': 2,
      'isthmus_connection_duration_seconds_bucket{le="1",outcome="finished"}': 0,
      'isthmus_connection_duration_seconds_bucket{le="10",outcome="finished"}': 2,
      'isthmus_connection_duration_seconds_bucket{le="0.01",outcome="alert-sent"}': 1,
    });
    expect(named(all, 'isthmus_relayed_bytes_total')).toEqual({
      'isthmus_relayed_bytes_total{namespace="magnum-system",cluster="kube",direction="from-client"}': 20,
      'isthmus_relayed_bytes_total{namespace="magnum-system",cluster="kube",direction="from-backend"}': 400,
    });
  });

  test('never turn text from a client or an exception into a label', async () => {
    for (let i = 0; i < 50; i += 1) {
      const refused: ConnectionRecord = {
        ...RECORD,
        client: `198.51.100.${i}:1`,
        serverName: `evil-${i}.example`,
        cluster: null,
        namespace: null,
        backend: null,
        outcome: 'alert-sent',
        reason: 'unknown-server-name',
      };
      metrics.connectionEnded(refused);
      metrics.connectionEnded({
        ...RECORD,
        backend: null,
        outcome: 'policy-error',
        reason: `TypeError: evil-${i}`,
      });
    }
    const all = await samples();
    expect(named(all, 'isthmus_connections_ended_total')).toEqual({
      'isthmus_connections_ended_total{outcome="alert-sent",reason="unknown-server-name"}': 50,
      'isthmus_connections_ended_total{outcome="policy-error",reason="policy-error"}': 50,
    });
    expect(Object.keys(all).join('\n')).not.toMatch(/evil|198\.51/);
    expect(named(all, 'isthmus_relayed_bytes_total')).toEqual({});
  });

  test('are shown by cluster only while they are open', async () => {
    open.set('magnum-system/kube', 3);
    expect(named(await samples(), 'isthmus_cluster_connections')).toEqual({
      'isthmus_cluster_connections{namespace="magnum-system",cluster="kube"}': 3,
    });
    open.clear();
    expect(named(await samples(), 'isthmus_cluster_connections')).toEqual({});
  });
});

test('failed dials and changed verdicts are counted', async () => {
  metrics.dialFailed('ECONNREFUSED');
  metrics.dialFailed('ECONNREFUSED');
  metrics.dialFailed('ENETNSCHANGED');
  metrics.healthChanged(1, 0);
  metrics.healthChanged(0, 2);
  expect(await samples()).toMatchObject({
    'isthmus_dial_failures_total{error="ECONNREFUSED"}': 2,
    'isthmus_dial_failures_total{error="ENETNSCHANGED"}': 1,
    'isthmus_backend_health_changes_total{to="up"}': 1,
    'isthmus_backend_health_changes_total{to="down"}': 2,
  });
});

test('connections that a full admin port or health port evicted are counted', async () => {
  metrics.adminConnectionsEvicted('health', 3);
  metrics.adminConnectionsEvicted('health', 2);
  expect(named(await samples(), 'isthmus_admin_connections_evicted_total')).toEqual({
    'isthmus_admin_connections_evicted_total{port="admin"}': 0,
    'isthmus_admin_connections_evicted_total{port="health"}': 5,
  });
});

test('backends are counted by cluster, and no label reveals the network of a tenant', async () => {
  const backend = (netns: string, up: boolean) => ({
    ...{ key: netns, address: '10.0.0.5', port: 6443, netns, up },
  });
  clusters = [
    cluster('a', 'serving', { backends: [backend('qdhcp-1', true), backend('ovnmeta-1', true)] }),
    cluster('b', 'serving', { backends: [backend('qdhcp-2', true), backend('ovnmeta-2', false)] }),
    cluster('c', 'unhealthy', { backends: [backend('qdhcp-3', false)] }),
    cluster('d', 'no-netns'),
  ];
  const up = (name: string) => `isthmus_backend_up{namespace="magnum-system",cluster="${name}"}`;
  expect(named(await samples(), 'isthmus_backend_up')).toEqual({ [up('a')]: 2, [up('b')]: 1, [up('c')]: 0 });
  expect(await metrics.registry.text()).not.toMatch(/netns=|qdhcp|ovnmeta|10\.0\.0\.5/);
});

describe('clusters', () => {
  test('are counted by state, and every state always has a series', async () => {
    clusters = [
      cluster('a', 'serving'),
      cluster('b', 'serving'),
      cluster('c', 'no-netns'),
      cluster('d', 'invalid'),
    ];
    expect(named(await samples(), 'isthmus_clusters')).toEqual({
      'isthmus_clusters{state="serving"}': 2,
      'isthmus_clusters{state="unhealthy"}': 0,
      'isthmus_clusters{state="no-netns"}': 1,
      'isthmus_clusters{state="pending"}': 0,
      'isthmus_clusters{state="not-proxied"}': 0,
      'isthmus_clusters{state="invalid"}': 1,
    });
  });

  const serving = (name: string, namespace = 'magnum-system') =>
    `isthmus_cluster_serving{namespace="${namespace}",cluster="${name}"}`;

  test('have a series that shows whether they are served, except those that are not proxied', async () => {
    clusters = [
      cluster('a', 'serving'),
      cluster('b', 'unhealthy'),
      cluster('c', 'not-proxied'),
      cluster('d', 'pending'),
    ];
    expect(named(await samples(), 'isthmus_cluster_serving')).toEqual({
      [serving('a')]: 1,
      [serving('b')]: 0,
      [serving('d')]: 0,
    });
    clusters = [cluster('b', 'serving')];
    expect(named(await samples(), 'isthmus_cluster_serving')).toEqual({ [serving('b')]: 1 });
  });

  test.each([['before'], ['after']])(
    'are served even if a rejected object %s them claims the same name',
    async (where) => {
      const both = [cluster('a', 'serving'), cluster('a', 'invalid', { origin: 'z.yaml' })];
      clusters = where === 'after' ? both : both.reverse();
      expect(named(await samples(), 'isthmus_cluster_serving')).toEqual({ [serving('a')]: 1 });
    },
  );

  test('that are deleted lose their series, and other clusters keep theirs', async () => {
    metrics.connectionEnded(RECORD);
    metrics.connectionEnded({ ...RECORD, cluster: 'other' });
    metrics.connectionEnded({ ...RECORD, namespace: 'elsewhere' });
    const bytes = async () => named(await samples(), 'isthmus_relayed_bytes_total');
    expect(Object.keys(await bytes())).toHaveLength(6);
    metrics.routesSwapped([cluster('kube', 'unhealthy'), cluster('other', 'serving')], []);
    expect(Object.keys(await bytes())).toHaveLength(4);
    metrics.routesSwapped([cluster('other', 'serving')], []);
    expect(Object.keys(await bytes())).toEqual([
      'isthmus_relayed_bytes_total{namespace="magnum-system",cluster="other",direction="from-client"}',
      'isthmus_relayed_bytes_total{namespace="magnum-system",cluster="other",direction="from-backend"}',
    ]);
    metrics.routesSwapped([], []);
    expect(await bytes()).toEqual({});
    expect(await samples()).toMatchObject({ isthmus_route_tables_total: 3 });

    metrics.connectionEnded(RECORD); // this connection outlived its cluster
    expect(Object.values(await bytes())).toEqual([10, 200]);
    metrics.routesSwapped([], []);
    expect(await bytes()).toEqual({});
  });
});

describe('additional listeners', () => {
  const listener = (name: string, state: ListenerStatus['state'], members: readonly MemberState[] = []) => ({
    ...{ name, namespace: 'ns', cluster: 'kube', protocol: 'TCP' as const, port: 22, targetPort: 22 },
    ...{ service: null, listenPort: null, serverNames: [], state, reason: state, detail: null },
    members: members.map((each, index) => ({
      ...{ machine: `m${index}`, key: null, address: null, netns: null, state: each, up: false, reason: '' },
    })),
  });

  test('are counted by state, their members by state, and their connections', async () => {
    listeners = [
      listener('ssh', 'serving', ['Ready', 'Ready', 'NotReady', 'Ignored']),
      listener('web', 'unhealthy', ['NotReady']),
    ];
    openPerListener = new Map([['ns/ssh', 3]]);
    const found = await samples();
    expect(named(found, 'isthmus_listeners')).toMatchObject({
      'isthmus_listeners{state="serving"}': 1,
      'isthmus_listeners{state="unhealthy"}': 1,
      'isthmus_listeners{state="invalid"}': 0,
    });
    expect(named(found, 'isthmus_listener_members')).toEqual({
      'isthmus_listener_members{namespace="ns",listener="ssh",state="Ready"}': 2,
      'isthmus_listener_members{namespace="ns",listener="ssh",state="NotReady"}': 1,
      'isthmus_listener_members{namespace="ns",listener="ssh",state="Ignored"}': 1,
      'isthmus_listener_members{namespace="ns",listener="web",state="Ready"}': 0,
      'isthmus_listener_members{namespace="ns",listener="web",state="NotReady"}': 1,
      'isthmus_listener_members{namespace="ns",listener="web",state="Ignored"}': 0,
    });
    expect(named(found, 'isthmus_listener_connections')).toEqual({
      'isthmus_listener_connections{namespace="ns",listener="ssh"}': 3,
      'isthmus_listener_connections{namespace="ns",listener="web"}': 0,
    });
  });

  test('that are deleted have no series', async () => {
    listeners = [listener('ssh', 'serving', ['Ready'])];
    await samples();
    listeners = [];
    expect(named(await samples(), 'isthmus_listener_members')).toEqual({});
  });
});
