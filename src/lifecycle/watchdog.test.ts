import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Watchdog, watchdogIntervalMs } from './notify-socket.ts';

test.each<[title: string, environment: Record<string, string>, interval: number | null]>([
  ['nobody watches', {}, null],
  ['half of its time', { WATCHDOG_USEC: '120000000' }, 60_000],
  ['it is meant for us', { WATCHDOG_USEC: '3000', WATCHDOG_PID: '42' }, 1],
  ['it is meant for another', { WATCHDOG_USEC: '3000', WATCHDOG_PID: '43' }, null],
  ['no number', { WATCHDOG_USEC: 'soon' }, null],
  ['switched off', { WATCHDOG_USEC: '0' }, null],
])('the interval: %s', (_title, environment, interval) => {
  expect(watchdogIntervalMs(environment, 42)).toBe(interval);
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('it beats at once and then while we are well', () => {
  let beats = 0;
  let well = true;
  const watchdog = new Watchdog(
    100,
    () => well,
    () => {
      beats += 1;
    },
  );
  vi.advanceTimersByTime(250);
  expect(beats).toBe(3);
  well = false;
  vi.advanceTimersByTime(1000);
  expect(beats).toBe(3);
  well = true;
  vi.advanceTimersByTime(100);
  expect(beats).toBe(4);
  watchdog.stop();
  vi.advanceTimersByTime(1000);
  expect(beats).toBe(4);
});
