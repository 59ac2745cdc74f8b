// What came of one probe, for tests that wait for it.
import type { Probe, ProbeOutcome, ProbeTarget } from '../../src/health/probe.ts';

export function outcomeOf(probe: Probe, target: ProbeTarget, signal?: AbortSignal): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    const cancel = probe.start(target, resolve);
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
  });
}
