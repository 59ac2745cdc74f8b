// A probe without network access, for tests with a virtual clock.
import type { Probe, ProbeOutcome, ProbeTarget } from '../../src/health/probe.ts';

/** Answers after 1 ms according to `broken`, and records every start. */
export class FakeProbe implements Probe {
  readonly starts: { key: string; atMs: number }[] = [];
  readonly broken = new Map<string, string>();
  durationMs = 1;
  running = 0;
  mostRunning = 0;

  start(target: ProbeTarget, ended: (outcome: ProbeOutcome) => void): () => void {
    this.starts.push({ key: target.key, atMs: performance.now() });
    this.running++;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    const end = (error: string | null) => ended({ ok: error === null, error, durationMs: this.durationMs });
    const timer = setTimeout(() => {
      this.running--;
      end(this.broken.get(target.key) ?? null);
    }, this.durationMs);
    return () => {
      clearTimeout(timer);
      this.running--;
      queueMicrotask(() => end('ECANCELED'));
    };
  }

  startsOf(key: string): number[] {
    return this.starts.filter((each) => each.key === key).map(({ atMs }) => atMs);
  }
}

export const target = (key: string): ProbeTarget => ({
  key,
  address: '10.0.0.1',
  port: 6443,
  netns: { path: `/run/netns/${key}`, identity: `cookie:${key}` },
  serverName: `${key}.magnum-system`,
});
export const targets = (count: number) => Array.from({ length: count }, (_, index) => target(`t${index}`));
