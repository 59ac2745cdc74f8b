import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ControlHeartbeat } from './control-heartbeat.ts';

const START = 1_700_000_000_000;
let asked: number;
let reported: string[];
let heartbeat: ControlHeartbeat;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  asked = 0;
  reported = [];
  heartbeat = new ControlHeartbeat({
    ask: () => {
      asked += 1;
    },
    onStall: (sinceMs) => reported.push(`stalled since ${sinceMs - START}`),
    onRecovery: (silentMs) => reported.push(`back after ${Math.round(silentMs)}`),
  });
});
afterEach(() => {
  heartbeat.stop();
  vi.useRealTimers();
});

test('the heartbeat sends one beat per second, and none while a beat is open', () => {
  heartbeat.start();
  expect(asked).toBe(1);
  vi.advanceTimersByTime(3500);
  expect(asked).toBe(1);
  heartbeat.answered();
  expect(asked).toBe(1);
  vi.advanceTimersByTime(500);
  expect(asked).toBe(2);
});

test('the lag is the age of the open beat, or the round trip of the last one', () => {
  heartbeat.start();
  vi.advanceTimersByTime(700);
  expect(heartbeat.lagMs).toBeCloseTo(700);
  heartbeat.answered();
  vi.advanceTimersByTime(100);
  expect(heartbeat.lagMs).toBeCloseTo(700);
  expect(heartbeat.stalledSinceMs).toBeNull();
});

test('five beats without an answer are a stall, reported once with the time of the beat; the answer ends it', () => {
  heartbeat.start();
  vi.advanceTimersByTime(4999);
  expect([heartbeat.stalledSinceMs, reported]).toEqual([null, []]);
  vi.advanceTimersByTime(10_000);
  expect([heartbeat.stalledSinceMs, reported]).toEqual([START, ['stalled since 0']]);
  heartbeat.answered();
  expect(heartbeat.stalledSinceMs).toBeNull();
  expect(reported).toEqual(['stalled since 0', 'back after 14999']);
});

test('a blocked main thread does not report a stall of the control thread', () => {
  heartbeat.start();
  // Blocked for a minute: the clock moves, but the timer fires once, before the waiting answer is read.
  vi.setSystemTime(START + 60_000);
  vi.advanceTimersByTime(1000);
  heartbeat.answered();
  vi.advanceTimersByTime(1000);
  expect(reported).toEqual([]);
  expect(asked).toBe(2);
});

test('a stopped heartbeat sends no beat, reports no stall, and ignores a late answer', () => {
  heartbeat.start();
  vi.advanceTimersByTime(4000);
  heartbeat.stop();
  vi.advanceTimersByTime(10_000);
  heartbeat.answered();
  expect([asked, reported, heartbeat.stalledSinceMs]).toEqual([1, [], null]);
});
