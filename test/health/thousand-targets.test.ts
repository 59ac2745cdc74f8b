// A thousand clusters in real namespaces: all become healthy within the permitted probe rate, and a failure is detected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HealthMonitor } from '../../src/health/health-monitor.ts';
import { DEFAULT_HEALTH_SETTINGS } from '../../src/health/health-settings.ts';
import type { Probe, ProbeTarget } from '../../src/health/probe.ts';
import { createProbe } from '../../src/health/probe-kinds.ts';
import { native } from '../../src/netns/native.ts';
import { makeNetns } from '../support/network/netns.ts';
import { openDescriptors } from '../support/process.ts';
import { busiestWindow } from './busiest-window.ts';
import { netnsRefOf } from './netns-ref-of.ts';
import { startNodeBackend, type TlsBackend } from './tls-backend.ts';

describe('a thousand clusters', () => {
  const netns = Array.from({ length: 4 }, () => makeNetns({ addresses: ['10.6.0.0/16'] }));
  const backends: TlsBackend[] = [];

  beforeAll(async () => {
    backends.push(...(await Promise.all(netns.map(({ name }) => startNodeBackend(name, '0.0.0.0', 6443)))));
  });
  afterAll(async () => {
    await Promise.all(backends.map((backend) => backend.stop()));
    for (const each of netns) each.remove();
  });

  test('are all up after two probes each, without a burst and without accepted connections; a dead one is seen at once', async () => {
    const before = openDescriptors();
    const starts: number[] = [];
    const started: string[] = [];
    /** Probes of one batch were allowed at one moment, even if another process runs in between. */
    let batchMs: number | null = null;
    /** Probes that lost the CPU. The kernel delays the last ACK by 200 ms, so a server may accept these. */
    let slow = 0;
    const probe = createProbe({ addon: native, settings: DEFAULT_HEALTH_SETTINGS });
    const counted: Probe = {
      start: (target, ended) => {
        if (batchMs === null) {
          batchMs = performance.now();
          queueMicrotask(() => {
            batchMs = null;
          });
        }
        starts.push(batchMs);
        started.push(target.key);
        return probe.start(target, (outcome) => {
          if (outcome.durationMs >= 150) slow += 1;
          ended(outcome);
        });
      },
    };
    const up = new Set<string>();
    const monitor = new HealthMonitor({
      probe: counted,
      settings: DEFAULT_HEALTH_SETTINGS,
      onChange: (key, health) => (health.up ? up.add(key) : up.delete(key)),
    });
    const refs = netns.map(({ path }) => netnsRefOf(path));
    // With a /16 on loopback every address in it is local.
    const targets: ProbeTarget[] = Array.from({ length: 1000 }, (_, index) => ({
      key: `t${index}`,
      address: `10.6.${index >> 8}.${index & 255}`,
      port: 6443,
      netns: refs[index % 4]!,
      serverName: `t${index}.magnum-system`,
    }));
    monitor.setTargets(targets);
    await expect.poll(() => up.size, { interval: 50 }).toBe(1000);
    const tookMs = performance.now() - starts[0]!;
    // pacer.test.ts proves the limit itself; this test reads its clock a little later than the pacer.
    expect(busiestWindow(starts, 1000)).toBeLessThanOrEqual(1.1 * (1000 + 200) + 20);
    expect(busiestWindow(starts, 100)).toBeLessThanOrEqual(2 * (100 + 20) + 20);
    const heard = backends.reduce((sum, backend) => sum + backend.count('connection'), 0);
    expect(heard).toBeLessThanOrEqual(slow);

    await backends[0]!.stop();
    const killedMs = performance.now();
    const already = started.length;
    monitor.dialFailed('t0');
    await expect.poll(() => up.has('t0'), { interval: 5 }).toBe(false);
    const noticedMs = performance.now() - killedMs;
    // Counted, not timed: the probe ran long before its regular turn among the thousand.
    expect(started.slice(already).filter((key) => key !== 't0').length).toBeLessThan(500);
    expect(monitor.snapshot().get('t0')!.lastProbe).toMatchObject({ ok: false, error: 'ECONNREFUSED' });

    await monitor.stop();
    probe.close();
    expect(openDescriptors()).toBeLessThanOrEqual(before);
    console.log(
      `1000 targets up after ${(tookMs / 1000).toFixed(1)} s; busiest second ${busiestWindow(starts, 1000)} probes, ` +
        `busiest 100 ms ${busiestWindow(starts, 100)}; dead one noticed ${noticedMs.toFixed(0)} ms after a failed dial`,
    );
  });
});
