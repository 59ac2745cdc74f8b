import { expect, test } from 'vitest';
import { NO_TRAFFIC } from '../metrics/traffic.ts';
import { listenerLines, listenerSentence } from './listener-text.ts';
import type { ListenerView, MemberView } from './listener-view.ts';

const member = (
  machine: string,
  state: MemberView['state'],
  parts: Partial<MemberView> = {},
): MemberView => ({
  machine,
  address: '10.0.0.5',
  netns: 'qdhcp-1',
  state,
  up: state !== 'NotReady',
  reason: state === 'NotReady' ? 'fails its checks' : 'its labels are of the next generation',
  lastProbe: null,
  ...parts,
});
const LISTENER: ListenerView = {
  name: 'ssh',
  namespace: 'magnum-system',
  cluster: 'alpha',
  protocol: 'TCP',
  port: 22,
  targetPort: 22,
  service: 'alpha-ssh',
  listenPort: 17001,
  serverNames: [],
  state: 'serving',
  reason: 'a member is ready',
  detail: null,
  connections: 1,
  traffic: NO_TRAFFIC,
  counts: { members: 3, ready: 1, notReady: 1, ignored: 1 },
  members: [
    member('blue', 'Ready'),
    member('bad', 'NotReady', {
      lastProbe: { at: '2026-01-02T03:04:05.000Z', ok: false, durationMs: 1, error: 'ECONNREFUSED' },
    }),
    member('green', 'Ignored', { address: null }),
  ],
};

test('there is no text without listeners', () => {
  expect(listenerLines([])).toEqual([]);
});

test('each listener has a line, with its members below', () => {
  const api: ListenerView = {
    ...LISTENER,
    name: 'registry',
    protocol: 'TLS',
    port: 443,
    listenPort: null,
    serverNames: ['alpha-registry.magnum-system'],
    connections: 2,
    counts: { members: 1, ready: 1, notReady: 0, ignored: 0 },
    members: [member('blue', 'Ready')],
  };
  const down: ListenerView = {
    ...api,
    name: 'x',
    state: 'no-members',
    reason: 'no machine matches its selector',
    counts: { members: 0, ready: 0, notReady: 0, ignored: 0 },
    members: [],
  };
  expect(listenerLines([LISTENER, api, down]).join('\n')).toBe(`3 listeners
  listener  cluster  state       ready
  ssh       alpha    serving     1/2    TCP 22 on port 17001 here, 1 connection
    blue (10.0.0.5): Ready
    bad (10.0.0.5): NotReady: fails its checks (ECONNREFUSED)
    green: Ignored, would be ready: its labels are of the next generation
  registry  alpha    serving     1/1    TLS 443 for alpha-registry.magnum-system, 2 connections
    blue (10.0.0.5): Ready
  x         alpha    no-members  0/0    no machine matches its selector`);
});

test('of many members only some of those that are not ready are named', () => {
  const members = Array.from({ length: 100 }, (_, i) => member(`m${i}`, i < 20 ? 'NotReady' : 'Ready'));
  const counts = { members: 5000, ready: 4980, notReady: 20, ignored: 0 };
  const lines = listenerLines([{ ...LISTENER, members, counts }]);
  expect(lines).toHaveLength(3 + 8 + 1);
  expect(lines.at(-1)).toBe('    and 4992 more, of 5000');
});

test('no line is wider than 100, also with the longest names', () => {
  const long = 'n'.repeat(63);
  const members = [member(long, 'NotReady', { reason: 'it fails and fails '.repeat(9).trim() })];
  const lines = listenerLines([
    {
      ...LISTENER,
      name: long,
      cluster: long,
      state: 'unhealthy',
      reason: 'and so on '.repeat(30).trim(),
      members,
    },
  ]);
  // A name is never broken: two of the longest names fill a line of their own.
  for (const line of lines.filter((each) => !each.includes(`${long}  ${long}`)))
    expect(line.length, line).toBeLessThanOrEqual(100 + 63);
  expect(lines.join('\n')).toContain('and so on');
});

test('explain shows a listener in one sentence', () => {
  expect(listenerSentence(LISTENER)).toBe(
    'ssh is serving (1 of 2 members ready, 1 ignored): TCP 22 on port 17001 here, 1 connection',
  );
});

test('a listener whose Service has another name shows which object has the plain name', () => {
  const lost = { ...LISTENER, service: 'alpha-ssh-0123456789', nameConflict: 'alpha-ssh belongs to b/x' };
  expect(listenerSentence(lost)).toBe(
    'ssh is serving (1 of 2 members ready, 1 ignored): TCP 22 on port 17001 here, 1 connection; ' +
      'its Service is called alpha-ssh-0123456789: alpha-ssh belongs to b/x',
  );
});
