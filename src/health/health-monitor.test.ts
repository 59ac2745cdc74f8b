import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeProbe, target, targets } from '../../test/health/fake-probe.ts';
import { HealthMonitor } from './health-monitor.ts';
import { DEFAULT_HEALTH_SETTINGS, type HealthSettings } from './health-settings.ts';

describe('the health monitor', () => {
  let probe: FakeProbe;
  let changes: { key: string; up: boolean; atMs: number }[];
  const monitors: HealthMonitor[] = [];

  function monitor(settings: Partial<HealthSettings> = {}): HealthMonitor {
    const made = new HealthMonitor({
      probe,
      settings: { ...DEFAULT_HEALTH_SETTINGS, ...settings },
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

  test('reports a target as down before its first probe', () => {
    const health = monitor();
    health.setTargets([target('a')]);
    expect(health.snapshot().get('a')).toEqual({ up: false, sinceMs: 1_700_000_000_000, lastProbe: null });
    expect(changes).toEqual([]);
  });

  test('reports a new target as up a fast interval after it was added', async () => {
    const health = monitor();
    health.setTargets([target('a')]);
    await pass(150);
    expect(upKeys(health)).toEqual([]);
    await pass(100);
    expect(changes).toMatchObject([{ key: 'a', up: true }]);
    const { lastProbe, ...rest } = health.snapshot().get('a')!;
    expect(rest).toEqual({ up: true, sinceMs: lastProbe!.atMs });
    expect(lastProbe).toEqual({ atMs: 1_700_000_000_202, ok: true, durationMs: 1, error: null });
  });

  test('reports a target as down a fast interval after the first failure, and as up after it recovers', async () => {
    const health = monitor();
    health.setTargets([target('a')]);
    await pass(20_000);
    probe.broken.set('a', 'ECONNREFUSED');
    const brokenMs = performance.now();
    await pass(5000);
    expect(changes[1]).toMatchObject({ key: 'a', up: false });
    expect(changes[1]!.atMs - brokenMs).toBeLessThanOrEqual(2000 + 200 + 10);
    expect(health.snapshot().get('a')!.lastProbe).toMatchObject({ ok: false, error: 'ECONNREFUSED' });
    await pass(60_000);
    probe.broken.clear();
    const mendedMs = performance.now();
    await pass(5000);
    expect(changes[2]).toMatchObject({ key: 'a', up: true });
    expect(changes[2]!.atMs - mendedMs).toBeLessThanOrEqual(2000 + 200 + 10);
    expect(changes).toHaveLength(3);
  });

  test('probes a backend that is always dead at the plain interval', async () => {
    probe.broken.set('a', 'ETIMEDOUT');
    monitor().setTargets([target('a')]);
    await pass(10_000);
    probe.starts.length = 0;
    await pass(60_000);
    expect(probe.starts.length).toBeLessThanOrEqual(30);
    expect(probe.starts.length).toBeGreaterThanOrEqual(29);
  });

  test('probes at once when a dial of real traffic failed', async () => {
    const health = monitor();
    health.setTargets([target('a')]);
    await pass(20_300);
    probe.broken.set('a', 'ECONNREFUSED');
    const failedMs = performance.now();
    health.dialFailed('a');
    expect(probe.startsOf('a').at(-1)).toBe(failedMs);
    await pass(300);
    expect(changes.at(-1)).toMatchObject({ key: 'a', up: false });
  });

  test('is not driven beyond the fast interval by a thousand failing dials a second', async () => {
    const health = monitor();
    health.setTargets([target('a')]);
    await pass(20_000);
    probe.starts.length = 0;
    for (let ms = 0; ms < 2000; ms++) {
      health.dialFailed('a');
      await pass(1);
    }
    expect(probe.starts.length).toBeGreaterThanOrEqual(9);
    expect(probe.starts.length).toBeLessThanOrEqual(11);
  });

  test('probes again soon when a dial fails during a probe', async () => {
    const health = monitor();
    probe.durationMs = 50;
    health.setTargets([target('a')]);
    await pass(20_000);
    while (probe.running === 0) await pass(10);
    const [before] = probe.startsOf('a').slice(-1);
    health.dialFailed('a');
    await pass(300);
    expect(probe.startsOf('a').at(-1)! - before!).toBeLessThanOrEqual(50 + 200 + 10);
    expect(probe.startsOf('a').at(-1)!).toBeGreaterThan(before!);
  });

  test('ignores failed dials of targets that are down or unknown', async () => {
    const health = monitor();
    probe.broken.set('a', 'ECONNREFUSED');
    health.setTargets([target('a')]);
    await pass(10_000);
    const { length } = probe.starts;
    health.dialFailed('a');
    health.dialFailed('unknown');
    await pass(10);
    expect(probe.starts).toHaveLength(length);
  });

  test('keeps the state of targets that stay, and drops removed targets', async () => {
    const health = monitor();
    health.setTargets([target('a'), target('b')]);
    await pass(1000);
    health.setTargets([target('b'), target('c')]);
    expect([...health.snapshot()].map(([key, { up }]) => [key, up])).toEqual([
      ['b', true],
      ['c', false],
    ]);
    await pass(1000);
    health.setTargets([target('a'), target('c')]);
    expect(health.snapshot().get('a')).toMatchObject({ up: false, lastProbe: null });
  });

  test('cancels the probe of a removed target, and ignores its result even if the target is added again', async () => {
    const health = monitor({ rise: 1 });
    probe.durationMs = 500;
    health.setTargets([target('a')]);
    await pass(100);
    expect(probe.running).toBe(1);
    health.setTargets([]);
    expect(probe.running).toBe(0);
    health.setTargets([target('a')]);
    await pass(100);
    expect(health.snapshot().get('a')!.lastProbe).toBeNull();
    await pass(500);
    expect(upKeys(health)).toEqual(['a']);
  });

  test('reports no change for a removed target when its cancelled probe fails', async () => {
    const health = monitor({ fall: 1 });
    probe.durationMs = 50;
    health.setTargets([target('a')]);
    await pass(20_000);
    while (probe.running === 0) await pass(10);
    health.setTargets([]);
    await pass(100);
    expect(changes.map(({ up }) => up)).toEqual([true]);
  });

  test('cancels running probes when it stops, and starts no more', async () => {
    const health = monitor();
    probe.durationMs = 500;
    health.setTargets(targets(20));
    await pass(200);
    expect(probe.running).toBeGreaterThan(0);
    const { length } = probe.starts;
    await health.stop();
    expect(probe.running).toBe(0);
    health.setTargets(targets(30));
    health.dialFailed('t0');
    await pass(10_000);
    expect(probe.starts).toHaveLength(length);
    expect(changes).toEqual([]);
  });

  test('never runs more probes than allowed, and still probes every target', async () => {
    const health = monitor({ maxConcurrent: 4 });
    probe.durationMs = 100;
    health.setTargets(targets(20));
    await pass(5000);
    expect(probe.mostRunning).toBe(4);
    expect(upKeys(health)).toHaveLength(20);
  });
});
