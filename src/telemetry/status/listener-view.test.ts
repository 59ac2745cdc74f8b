import { expect, test } from 'vitest';
import type { ListenerStatus, MemberStatus } from '../../control/desired/listener-status.ts';
import { NO_TRAFFIC, TrafficCounts } from '../metrics/traffic.ts';
import { listenerView } from './listener-view.ts';

const member = (
  machine: string,
  state: MemberStatus['state'],
  key: string | null = machine,
): MemberStatus => ({
  machine,
  key,
  address: '10.0.0.5',
  netns: 'qdhcp-1',
  state,
  up: state === 'Ready',
  reason: 'as it is',
});
const LISTENER: ListenerStatus = {
  name: 'ssh',
  namespace: 'ns',
  cluster: 'kube',
  protocol: 'TCP',
  port: 22,
  targetPort: 2222,
  service: 'kube-ssh',
  listenPort: 17000,
  serverNames: [],
  state: 'serving',
  reason: 'served',
  detail: null,
  members: [member('a', 'Ready'), member('b', 'NotReady', null), member('c', 'Ignored')],
};

test('the view has the status of a listener, its connections, and the last probe of each member', () => {
  const lastProbe = { atMs: Date.UTC(2026, 0, 2), ok: true, durationMs: 1.234, error: null };
  const health = new Map([['a', { up: true, sinceMs: 0, lastProbe }]]);
  const { key: _a, ...a } = member('a', 'Ready');
  const { key: _b, ...b } = member('b', 'NotReady');
  const { key: _c, ...c } = member('c', 'Ignored');
  const traffic = new TrafficCounts();
  traffic.add({
    ...{ namespace: 'ns', cluster: 'kube', pool: 'ns/ssh', backend: 'a' },
    ...{ bytesFromClient: 10, bytesFromBackend: 20 },
  });
  expect(listenerView(LISTENER, health, new Map([['ns/ssh', 4]]), traffic)).toEqual({
    ...LISTENER,
    connections: 4,
    traffic: { ended: 1, unserved: 0, bytesFromClient: 10, bytesFromBackend: 20 },
    counts: { members: 3, ready: 1, notReady: 1, ignored: 1 },
    members: [
      { ...a, lastProbe: { at: '2026-01-02T00:00:00.000Z', ok: true, durationMs: 1.2, error: null } },
      { ...b, lastProbe: null },
      { ...c, lastProbe: null },
    ],
  });
});

test('thousands of members are all counted, and a hundred are shown: those that are not ready first', () => {
  const members = Array.from({ length: 5000 }, (_, i) =>
    member(`m${i}`, i % 1000 === 999 ? 'NotReady' : 'Ready'),
  );
  const view = listenerView({ ...LISTENER, members }, new Map(), new Map(), new TrafficCounts());
  expect(view.traffic).toEqual(NO_TRAFFIC);
  expect(view.counts).toEqual({ members: 5000, ready: 4995, notReady: 5, ignored: 0 });
  expect(view.members).toHaveLength(100);
  expect(view.members.slice(0, 6).map(({ machine }) => machine)).toEqual([
    ...['m999', 'm1999', 'm2999', 'm3999', 'm4999'],
    'm0',
  ]);
});
