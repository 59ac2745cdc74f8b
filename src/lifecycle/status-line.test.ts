import { expect, test } from 'vitest';
import { statusLine } from './notify-socket.ts';

test.each<[states: Record<string, number>, staleSince: string | null, line: string]>([
  [{}, null, 'serving 0 clusters at *:6443'],
  [{ serving: 1 }, null, 'serving 1 cluster at *:6443'],
  [
    { 'not-proxied': 4, pending: 1, serving: 12, unhealthy: 3, 'no-netns': 2, invalid: 1 },
    null,
    'serving 12 clusters at *:6443, 3 unhealthy, 2 no-netns, 1 invalid, 1 pending',
  ],
  [
    { serving: 2 },
    '2026-01-01T00:00:00.000Z',
    'serving 2 clusters at *:6443, no update from the Kubernetes API since 2026-01-01T00:00:00.000Z',
  ],
])('%j, %s: %s', (states, staleSince, line) => {
  const facts = { listen: '*:6443', notReadyBecause: null, states: new Map(Object.entries(states)) };
  expect(statusLine({ ...facts, staleSince })).toBe(line);
});

test('a process that is not ready yet says only why', () => {
  const notReadyBecause = 'leases: not listed yet';
  const facts = { listen: '*:6443', notReadyBecause, states: new Map([['serving', 1]]), staleSince: null };
  expect(statusLine(facts)).toBe('not ready: leases: not listed yet');
});
