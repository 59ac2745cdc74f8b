import { expect, test } from 'vitest';
import { type CountedTraffic, NO_TRAFFIC, TrafficCounts } from './traffic.ts';

const ENDING: CountedTraffic = {
  namespace: 'ns',
  cluster: 'kube',
  pool: null,
  backend: 'b',
  bytesFromClient: 10,
  bytesFromBackend: 200,
};

test('a connection counts for its cluster or for its listener, and once in the total', () => {
  const counts = new TrafficCounts();
  counts.add(ENDING);
  counts.add({ ...ENDING, pool: 'ns/ssh' });
  counts.add({ ...ENDING, pool: 'ns/ssh', bytesFromClient: 1 });
  expect(counts.cluster('ns', 'kube')).toEqual({
    ended: 1,
    unserved: 0,
    bytesFromClient: 10,
    bytesFromBackend: 200,
  });
  expect(counts.listener('ns/ssh')).toEqual({
    ended: 2,
    unserved: 0,
    bytesFromClient: 11,
    bytesFromBackend: 400,
  });
  expect(counts.total).toEqual({ ended: 3, unserved: 0, bytesFromClient: 21, bytesFromBackend: 600 });
  expect([...counts.clusters()]).toMatchObject([{ direct: { ended: 1 }, byListeners: { ended: 2 } }]);
});

test('a connection that reached no backend counts as unserved, without bytes', () => {
  const counts = new TrafficCounts();
  counts.add({ ...ENDING, backend: null });
  expect(counts.cluster('ns', 'kube')).toEqual({ ...NO_TRAFFIC, ended: 1, unserved: 1 });
});

test('a connection without a cluster counts only in the total', () => {
  const counts = new TrafficCounts();
  counts.add({ ...ENDING, backend: null, namespace: null, cluster: null });
  expect(counts.total).toMatchObject({ ended: 1, unserved: 1 });
  expect([...counts.clusters()]).toEqual([]);
});

test('a cluster or listener without connections has zeros, and reading it stores nothing', () => {
  const counts = new TrafficCounts();
  expect([counts.cluster('ns', 'x'), counts.listener('ns/x')]).toEqual([NO_TRAFFIC, NO_TRAFFIC]);
  expect([...counts.clusters()]).toEqual([]);
});

test('deleted clusters and listeners are dropped, except from the total', () => {
  const counts = new TrafficCounts();
  for (const cluster of ['kube', 'other'])
    for (const pool of [null, `ns/${cluster}-ssh`]) counts.add({ ...ENDING, cluster, pool });
  counts.keep(new Set(['ns/other']), new Set(['ns/other-ssh']));
  expect([counts.cluster('ns', 'kube').ended, counts.cluster('ns', 'other').ended]).toEqual([0, 1]);
  expect([counts.listener('ns/kube-ssh').ended, counts.listener('ns/other-ssh').ended]).toEqual([0, 1]);
  expect(counts.total.ended).toBe(4);
});
