import { expect, test } from 'vitest';
import { clusterView, listenerViewOf, statusOf } from '../../../test/support/status-views.ts';
import type { StatusView } from '../../telemetry/status/status.ts';
import { topView } from './top-view.ts';

const traffic = (ended: number, unserved = 0, bytesFromClient = 0, bytesFromBackend = 0) => ({
  ended,
  unserved,
  bytesFromClient,
  bytesFromBackend,
});
const UNKNOWN = {
  newPerSecond: null,
  unservedPerSecond: null,
  bytesInPerSecond: null,
  bytesOutPerSecond: null,
};

const BEFORE = statusOf({
  connections: 10,
  traffic: traffic(100, 4, 1000, 5000),
  clusters: [clusterView('alpha', { connections: 5, traffic: traffic(50, 0, 400, 2000) })],
  listeners: [listenerViewOf('ssh', { connections: 1, traffic: traffic(7, 7) })],
});
const AFTER = statusOf({
  uptimeSeconds: 102,
  connections: 8,
  traffic: traffic(122, 8, 3000, 25_000),
  clusters: [clusterView('alpha', { connections: 4, traffic: traffic(55, 2, 500, 2400) })],
  listeners: [listenerViewOf('ssh', { connections: 3, traffic: traffic(7, 7) })],
});

test('rates are the differences between two answers, by the clock of the proxy', () => {
  const view = topView(BEFORE, AFTER);
  // 8 + 122 connections in total, after 10 + 100 in the first answer.
  expect(view).toMatchObject({
    overSeconds: 2,
    newPerSecond: 10,
    unservedPerSecond: 2,
    bytesInPerSecond: 1000,
    bytesOutPerSecond: 10_000,
  });
  expect(view.clusters[0]).toMatchObject({
    newPerSecond: 2,
    unservedPerSecond: 1,
    bytesInPerSecond: 50,
    bytesOutPerSecond: 200,
  });
  expect(view.listeners[0]).toMatchObject({ newPerSecond: 1, unservedPerSecond: 0 });
});

test.each<[title: string, before: StatusView | null, now: StatusView]>([
  ['after the first answer', null, AFTER],
  ['when another process answers: a restart', { ...BEFORE, startedAt: '2026-01-02T03:00:00.000Z' }, AFTER],
  ['when another instance answers', { ...BEFORE, instance: 'net-4' }, AFTER],
  ['when no time has passed', BEFORE, { ...AFTER, uptimeSeconds: 100 }],
])('no rate is known %s', (_title, before, now) => {
  const view = topView(before, now);
  expect(view).toMatchObject({ ...UNKNOWN, overSeconds: null });
  expect([view.clusters[0], view.listeners[0]]).toMatchObject([UNKNOWN, UNKNOWN]);
});

test('the rates of a new cluster are unknown, and all others are known', () => {
  const now = { ...AFTER, clusters: [...AFTER.clusters, clusterView('new', { traffic: traffic(9) })] };
  const { clusters } = topView(BEFORE, now);
  expect(clusters.map(({ newPerSecond }) => newPerSecond)).toEqual([2, null]);
});

test('a counter that restarts makes no negative rate', () => {
  const now = { ...AFTER, clusters: [clusterView('alpha', { connections: 1, traffic: traffic(3) })] };
  expect(topView(BEFORE, now).clusters[0]).toMatchObject({
    newPerSecond: 0,
    unservedPerSecond: 0,
    bytesInPerSecond: 0,
    bytesOutPerSecond: 0,
  });
});

test('clusters of one name in two namespaces are not mixed up', () => {
  const of = (namespace: string, ended: number) =>
    clusterView('kube', { namespace, traffic: traffic(ended) });
  const before = statusOf({ clusters: [of('a', 10), of('b', 20)] });
  const now = statusOf({ uptimeSeconds: 101, clusters: [of('b', 21), of('a', 15)] });
  expect(topView(before, now).clusters.map(({ newPerSecond }) => newPerSecond)).toEqual([1, 5]);
});

test('the view counts the healthy backends of a cluster and the healthy members of a listener, without ignored ones', () => {
  const [backend] = clusterView('a').backends;
  const backends = [backend!, { ...backend!, up: false }, { ...backend!, up: false }];
  const view = topView(
    null,
    statusOf({ clusters: [clusterView('a', { backends })], listeners: [listenerViewOf('ssh')] }),
  );
  expect(view.clusters[0]).toMatchObject({ backendsUp: 1, backends: 3 });
  expect(view.listeners[0]).toMatchObject({
    kind: 'listener',
    cluster: 'alpha',
    backendsUp: 1,
    backends: 2,
    netns: null,
  });
});

test('with Kubernetes, the view has the Lease state and the number of published clusters, but no identity', () => {
  const publication = {
    service: 'ours',
    slice: 'ready',
    readyInstances: 1,
    kubeconfig: 'proxied',
    problem: null,
  } as const;
  const view = topView(
    null,
    statusOf({
      kubernetes: {
        ...{ server: 'https://10.20.0.10:6443', identity: 'a user', instance: 'net-3', calls: {} },
        ...{ lease: 'held', liveness: 'lease', instances: 3, staleSince: null },
        ...{ takesPart: true, takesPartBecause: 'every node takes part' },
      },
      clusters: [
        clusterView('a', { publication }),
        clusterView('b', { publication: { ...publication, slice: 'absent' } }),
        clusterView('c'),
      ],
    }),
  );
  expect(view.kubernetes).toEqual({
    lease: 'held',
    instances: 3,
    takesPart: true,
    takesPartBecause: 'every node takes part',
    staleSince: null,
    published: 1,
  });
});
