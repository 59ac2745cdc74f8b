// Tests that thousands of machines behind listeners, and thousands of further ways, never delay the checks of API servers.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { busiestWindow } from '../../test/health/busiest-window.ts';
import { FakeProbe, target, targets } from '../../test/health/fake-probe.ts';
import { HealthGroups, probesAtOnce } from './health-groups.ts';
import { DEFAULT_HEALTH_SETTINGS } from './health-settings.ts';

const machine = (key: string) => ({ ...target(key), check: 'tcp' as const });
const machines = (count: number) => Array.from({ length: count }, (_, i) => machine(`m${i}`));
const way = (key: string, is: 'needed' | 'spare') => ({ ...target(key), way: is });
/** `count` clusters: the address of the API server and three ways each. `of` says how the ways of a cluster are used. */
const clusters = (
  count: number,
  of: (cluster: number) => readonly ['needed' | 'spare', 'needed' | 'spare', 'needed' | 'spare'],
) =>
  Array.from({ length: count }, (_, i) => [
    target(`t${i}`),
    ...of(i).map((is, machine) => way(`t${i}-${machine}`, is)),
  ]).flat();
const SPARES = ['spare', 'spare', 'spare'] as const;
const NEEDED = ['needed', 'needed', 'needed'] as const;
const perSecond = (starts: readonly { key: string; atMs: number }[], ms: number) => {
  const ways = starts.filter(({ key }) => key.includes('-')).length;
  return { servers: Math.round((starts.length - ways) / (ms / 1000)), ways: Math.round(ways / (ms / 1000)) };
};
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

let probe: FakeProbe;
let settledDown: number;
let changes: { key: string; up: boolean; atMs: number }[];
let health: HealthGroups;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  probe = new FakeProbe();
  changes = [];
  settledDown = 0;
  health = new HealthGroups({
    probe,
    settings: DEFAULT_HEALTH_SETTINGS,
    onChange: (key, { up }) => changes.push({ key, up, atMs: performance.now() }),
    onSettledDown: () => {
      settledDown += 1;
    },
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

describe('with three further ways for each of 1000 clusters', () => {
  test('at rest, ways add 50 probes a second to the 200 of API servers, and the start has no burst of ways', async () => {
    health.setTargets(clusters(1000, () => SPARES));
    await pass(120_000);
    const atStart = probe.starts.filter(({ key, atMs }) => key.includes('-') && atMs < 120_000);
    expect(
      busiestWindow(
        atStart.map(({ atMs }) => atMs),
        1000,
      ),
    ).toBeLessThanOrEqual(120);
    probe.starts.length = 0;
    await pass(120_000);
    const { servers, ways } = perSecond(probe.starts, 120_000);
    expect(servers).toBeGreaterThan(190);
    expect(servers).toBeLessThanOrEqual(200);
    expect(ways).toBeGreaterThan(45);
    expect(ways).toBeLessThanOrEqual(52);
    console.log(`1000 clusters at rest: ${servers} probes a second of API servers, ${ways} of further ways`);
  });

  test('a way is probed at once when it is needed, and its failure is found at the plain interval', async () => {
    health.setTargets(clusters(1000, () => SPARES));
    await pass(130_000);
    probe.starts.length = 0;
    const fromMs = performance.now();
    health.setTargets(clusters(1000, (i) => (i === 7 ? NEEDED : SPARES)));
    await pass(100);
    expect(probe.startsOf('t7-0')).toHaveLength(1);
    await pass(20_000);
    probe.broken.set('t7-0', 'ETIMEDOUT');
    const brokenMs = performance.now();
    await pass(4000);
    const down = changes.find(({ key, up, atMs }) => key === 't7-0' && !up && atMs > fromMs);
    expect(down?.atMs).toBeLessThan(brokenMs + 2700);
  });

  test('if all load balancers fail at once, ways keep their limit, and a first way of each is confirmed in a minute', async () => {
    health.setTargets(clusters(1000, () => SPARES));
    await pass(130_000);
    probe.starts.length = 0;
    health.setTargets(clusters(1000, () => ['needed', 'spare', 'spare']));
    await pass(60_000);
    const ways = probe.starts.filter(({ key }) => key.includes('-')).map(({ atMs }) => atMs);
    expect(busiestWindow(ways, 1000)).toBeLessThanOrEqual(1.1 * 64 + 1);
    const first = new Set(probe.starts.map(({ key }) => key).filter((key) => key.endsWith('-0')));
    expect(first.size).toBe(1000);
    expect(perSecond(probe.starts, 60_000).servers).toBeGreaterThan(190);
  });

  test('on an OVN node with a machine of each tenth cluster, the ways in use are confirmed in twelve seconds', async () => {
    // The load balancers and most machines never answer here.
    probe.durationMs = 1000;
    const used = (i: number) => i % 10 === 0;
    const all = clusters(1000, (i) => (used(i) ? ['needed', 'spare', 'spare'] : NEEDED));
    for (const { key } of all) if (!/0-0$/.test(key)) probe.broken.set(key, 'ETIMEDOUT');
    health.setTargets(all);
    await pass(300_000);
    probe.starts.length = 0;
    await pass(60_000);
    const counts = Array.from({ length: 100 }, (_, i) => probe.startsOf(`t${i * 10}-0`).length);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(5);
    const ways = probe.starts.filter(({ key }) => key.includes('-')).map(({ atMs }) => atMs);
    expect(busiestWindow(ways, 1000)).toBeLessThanOrEqual(1.1 * 64 + 1);
    console.log(`an OVN node with 100 ways in use: ${Math.min(...counts)} probes of each in a minute`);
  });

  test('a start does not wait for spares, and a failed API server is reported although it was never up', async () => {
    probe.broken.set('t0', 'ETIMEDOUT');
    health.setTargets(clusters(2, () => SPARES));
    expect(health.isSettled).toBe(false);
    await pass(1000);
    expect(health.isSettled).toBe(true);
    expect(settledDown).toBe(1);
    health.setTargets(clusters(2, (i) => (i === 0 ? NEEDED : SPARES)));
    expect(health.isSettled).toBe(false);
    await pass(1000);
    expect(health.isSettled).toBe(true);
    expect(changes.map(({ key, up }) => `${key} ${up}`)).toEqual([
      't1 true',
      't0-0 true',
      't0-1 true',
      't0-2 true',
    ]);
  });
});
