import { expect, test } from 'vitest';
import { PressureTally, pressureNotes } from './pressure.ts';

test('pressure is counted by outcome, a dial aborted by a health verdict by its reason, and nothing else', () => {
  const tally = new PressureTally();
  expect(tally.counts).toEqual({});
  for (const [outcome, reason] of [
    ['evicted-hello', 'evicted-hello'],
    ['evicted-hello', 'evicted-hello'],
    ['refused-share', 'cluster-connections'],
    ['dial-failed', 'EBACKENDDOWN'],
    ['dial-failed', 'ECONNREFUSED'],
    ['finished', 'finished'],
    ['alert-sent', 'constructor'],
  ] as const)
    tally.add({ outcome, reason });
  expect(tally.counts).toEqual({ 'evicted-hello': 2, 'refused-share': 1, EBACKENDDOWN: 1 });
});

test('connections that a full health port or admin port evicted are counted by port', () => {
  const tally = new PressureTally();
  tally.adminConnectionsEvicted('health', 3);
  tally.adminConnectionsEvicted('health', 2);
  tally.adminConnectionsEvicted('admin', 1);
  expect(tally.counts).toEqual({ 'evicted-health': 5, 'evicted-admin': 1 });
});

test('each count is one sentence that names the flag', () => {
  expect(pressureNotes({ 'evicted-hello': 2 }, '2026-11-18T00:00:00Z')).toEqual([
    expect.stringMatching(/^2 since 2026-11-18T00:00:00Z \(evicted-hello\): .*--max-connections/),
  ]);
  expect(pressureNotes({}, '2026-11-18T00:00:00Z')).toEqual([]);
});
