// Tests that thousands of machines behind listeners never delay the checks of API servers.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { busiestWindow } from '../../test/health/busiest-window.ts';
import { FakeProbe, target, targets } from '../../test/health/fake-probe.ts';
import { HealthGroups, probesAtOnce } from './health-groups.ts';
import { DEFAULT_HEALTH_SETTINGS } from './health-settings.ts';

const machine = (key: string) => ({ ...target(key), check: 'tcp' as const });
const machines = (count: number) => Array.from({ length: count }, (_, i) => machine(`m${i}`));
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

let probe: FakeProbe;
let changes: { key: string; up: boolean; atMs: number }[];
let health: HealthGroups;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  probe = new FakeProbe();
  changes = [];
  health = new HealthGroups({
    probe,
    settings: DEFAULT_HEALTH_SETTINGS,
    onChange: (key, { up }) => changes.push({ key, up, atMs: performance.now() }),
    random: () => 0.5,
  });
});
afterEach(async () => {
  await health.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('the failure of an API server is detected as fast with 3000 machines as without them', async () => {
  health.setTargets([...machines(3000), ...targets(10)]);
  await pass(20_000);
  probe.broken.set('t7', 'ECONNREFUSED');
  const brokenMs = performance.now();
  await pass(3000);
  expect(changes.find(({ key, up }) => key === 't7' && !up)?.atMs).toBeLessThan(brokenMs + 2600);
  const starts = probe.starts.filter(({ key }) => key.startsWith('m')).map(({ atMs }) => atMs);
  const settled = starts.filter((atMs) => atMs > brokenMs);
  expect(busiestWindow(settled, 1000)).toBeLessThanOrEqual(221);
});

test('machines that never answer do not delay probes of API servers', async () => {
  probe.durationMs = 1000;
  for (const { key } of machines(1000)) probe.broken.set(key, 'ETIMEDOUT');
  health.setTargets([...machines(1000), ...targets(300)]);
  await pass(6000);
  expect([...health.snapshot().values()].filter(({ up }) => up)).toHaveLength(300);
  expect(probe.mostRunning).toBeLessThanOrEqual(probesAtOnce(DEFAULT_HEALTH_SETTINGS));
});

test('both groups appear in the snapshot, react to failed dials, and drop removed targets', async () => {
  health.setTargets([machine('m0'), target('t0')]);
  await pass(1000);
  expect([...health.snapshot()].map(([key, { up }]) => `${key} ${up}`)).toEqual(['t0 true', 'm0 true']);
  await pass(10_000);
  probe.starts.length = 0;
  health.dialFailed('m0');
  health.dialFailed('t0');
  await pass(1);
  expect(probe.starts.map(({ key }) => key).sort()).toEqual(['m0', 't0']);
  health.setTargets([target('t0')]);
  expect([...health.snapshot().keys()]).toEqual(['t0']);
});
