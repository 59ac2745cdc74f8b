import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Watchdog, watchdogIntervalMs } from './notify-socket.ts';

test.each<[title: string, environment: Record<string, string>, interval: number | null]>([
  ['null without a watchdog', {}, null],
  ['half of the timeout of the watchdog', { WATCHDOG_USEC: '120000000' }, 60_000],
  ['set if the watchdog is for this process', { WATCHDOG_USEC: '3000', WATCHDOG_PID: '42' }, 1],
  ['null if the watchdog is for another process', { WATCHDOG_USEC: '3000', WATCHDOG_PID: '43' }, null],
  ['null if the timeout is not a number', { WATCHDOG_USEC: 'soon' }, null],
  ['null if the watchdog is switched off', { WATCHDOG_USEC: '0' }, null],
])('the watchdog interval is %s', (_title, environment, interval) => {
  expect(watchdogIntervalMs(environment, 42)).toBe(interval);
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the watchdog beats at once, and then only while the process is healthy', () => {
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
