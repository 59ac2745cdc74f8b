// The outcome of one probe, as a promise.
import type { Probe, ProbeOutcome, ProbeTarget } from '../../src/health/probe.ts';

export function outcomeOf(probe: Probe, target: ProbeTarget, signal?: AbortSignal): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    const cancel = probe.start(target, resolve);
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
  });
}
