// Tests the monitor with more targets than the rate allows.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { busiestWindow } from '../../test/health/busiest-window.ts';
import { FakeProbe, targets } from '../../test/health/fake-probe.ts';
import { HealthMonitor } from './health-monitor.ts';
import { DEFAULT_HEALTH_SETTINGS } from './health-settings.ts';

describe('the health monitor with many targets', () => {
  let probe: FakeProbe;
  let changes: { key: string; up: boolean; atMs: number }[];
  const monitors: HealthMonitor[] = [];

  function monitor(): HealthMonitor {
    const made = new HealthMonitor({
      probe,
      settings: DEFAULT_HEALTH_SETTINGS,
      onChange: (key, { up }) => changes.push({ key, up, atMs: performance.now() }),
      random: () => 0.5,
    });
    monitors.push(made);
    return made;
  }
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  const upKeys = (of: HealthMonitor) => [...of.snapshot()].filter(([, { up }]) => up).map(([key]) => key);

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
    probe = new FakeProbe();
    changes = [];
  });
  afterEach(async () => {
    await Promise.all(monitors.splice(0).map((each) => each.stop()));
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('probes 1000 targets that are added at once without a burst, then each at the stretched interval', async () => {
    const health = monitor();
    health.setTargets(targets(1000));
    await pass(2500);
    expect(upKeys(health)).toHaveLength(1000);
    await pass(57_500);
    const starts = probe.starts.map(({ atMs }) => atMs);
    // The rate of new targets plus the rate of targets with a verdict.
    expect(busiestWindow(starts, 1000)).toBeLessThanOrEqual(1101 + 221);
    expect(busiestWindow(starts, 100)).toBeLessThanOrEqual(201 + 41);
    const settled = starts.filter((atMs) => atMs > starts[0]! + 2500);
    expect(busiestWindow(settled, 1000)).toBeLessThanOrEqual(221);
    expect(settled.length).toBeGreaterThan(57 * 190);
    for (const key of ['t0', 't500', 't999']) {
      const all = probe.startsOf(key);
      const gaps = all.slice(1).map((atMs, index) => ({ atMs, gapMs: atMs - all[index]! }));
      // At first all targets are due fast and delay each other. Later the probes of one target are 5 s apart, plus some delay.
      expect(Math.max(...gaps.map(({ gapMs }) => gapMs))).toBeLessThan(10_000);
      expect(
        Math.max(...gaps.filter(({ atMs }) => atMs > starts[0]! + 30_000).map(({ gapMs }) => gapMs)),
      ).toBeLessThan(6300);
    }
  });

  test('brings the first of 1000 targets up while the last ones still wait for their first probe', async () => {
    const health = monitor();
    health.setTargets(targets(1000));
    await pass(600);
    expect(upKeys(health).length).toBeGreaterThan(50);
    expect(probe.startsOf('t999')).toEqual([]);
  });

  test('brings 1000 targets up in time even if every timer is late', async () => {
    const health = monitor();
    const setTimer = globalThis.setTimeout;
    // No spy: its restore would leave the fake timer in place for the next test file of this process.
    globalThis.setTimeout = ((run: () => void, ms = 0) => setTimer(run, ms + 50)) as typeof setTimeout;
    try {
      health.setTargets(targets(1000));
      await pass(3000);
      expect(upKeys(health)).toHaveLength(1000);
    } finally {
      globalThis.setTimeout = setTimer;
    }
  });

  test('keeps checking targets in use at the same rate while 1000 new targets never answer', async () => {
    const health = monitor();
    health.setTargets(targets(10));
    await pass(20_000);
    const others = targets(1010).slice(10);
    for (const { key } of others) probe.broken.set(key, 'ETIMEDOUT');
    probe.durationMs = 1000;
    health.setTargets(targets(1010));
    await pass(1000);
    probe.broken.set('t7', 'ECONNREFUSED');
    const brokenMs = performance.now();
    await pass(8000);
    expect(changes.find(({ key, up }) => key === 't7' && !up)!.atMs - brokenMs).toBeLessThan(6500);
    expect(probe.mostRunning).toBeLessThanOrEqual(256);
  });

  test('detects a failure of one of 1000 targets within an interval, or at once after a failed dial, at the rate limit', async () => {
    const health = monitor();
    health.setTargets(targets(1000));
    await pass(60_000);
    probe.broken.set('t7', 'ECONNREFUSED').set('t8', 'ECONNREFUSED');
    const brokenMs = performance.now();
    health.dialFailed('t7');
    await pass(8000);
    const fell = (key: string) => changes.find((each) => each.key === key && !each.up)!.atMs - brokenMs;
    expect(fell('t7')).toBeLessThan(300);
    expect(fell('t8')).toBeLessThan(7000);
  });

  test('finds the only reachable target of 1000', async () => {
    const health = monitor();
    for (const { key } of targets(1000)) if (key !== 't999') probe.broken.set(key, 'ETIMEDOUT');
    probe.durationMs = 1000;
    health.setTargets(targets(1000));
    await pass(12_000);
    expect(upKeys(health)).toEqual(['t999']);
    expect(probe.mostRunning).toBeLessThanOrEqual(256);
  });

  test('does not let flapping targets starve the others', async () => {
    const health = monitor();
    health.setTargets(targets(100));
    await pass(20_000);
    const flapping = targets(80).map(({ key }) => key);
    const flap = setInterval(() => {
      for (const key of flapping) {
        if (probe.broken.has(key)) probe.broken.delete(key);
        else probe.broken.set(key, 'ECONNRESET');
      }
    }, 205);
    await pass(20_000);
    probe.starts.length = 0;
    await pass(20_000);
    clearInterval(flap);
    expect(probe.startsOf('t99').length).toBeGreaterThanOrEqual(4);
    expect(
      busiestWindow(
        probe.starts.map(({ atMs }) => atMs),
        1000,
      ),
    ).toBeLessThanOrEqual(221);
  });
});
