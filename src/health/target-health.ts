// The health of one backend as plain data: its last probe, the verdict from successive results, and the stable form of its error code for
// messages. Pure: no clock, no I/O.

export interface ProbeResult {
  readonly atMs: number;
  readonly ok: boolean;
  readonly durationMs: number;
  /** A code such as ECONNREFUSED or ETIMEDOUT; null if the probe passed. */
  readonly error: string | null;
}

export interface TargetHealth {
  readonly up: boolean;
  /** When `up` last changed, or when the target was added; milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly lastProbe: ProbeResult | null;
}

/**
 * For messages that are compared with those of the previous turn. Probes of a dead machine fail alternately by our own deadline and by the
 * kernel's, which gives up on ARP after three seconds. With two different codes, one dead machine would cause a new message every time.
 */
export const settledError = (error: string): string => (error === 'EHOSTUNREACH' ? 'ETIMEDOUT' : error);

/** Decided from successive probe results. */
export interface Verdict {
  readonly up: boolean;
  /** Consecutive results that contradict `up`. At `rise` or `fall` results, `up` flips. */
  readonly against: number;
  /** Consecutive results that confirm `up`, including the one that flipped it. */
  readonly agreeing: number;
}

export interface VerdictRules {
  readonly rise: number;
  readonly fall: number;
}

/** A target is down until its probes succeed: on most nodes most backends are never reachable, and a wrong "up" makes real clients fail. */
export const UNPROVEN: Verdict = Object.freeze({ up: false, against: 0, agreeing: 0 });

export function nextVerdict(state: Verdict, ok: boolean, rules: VerdictRules): Verdict {
  if (ok === state.up) return { up: state.up, against: 0, agreeing: state.agreeing + 1 };
  const against = state.against + 1;
  const needed = state.up ? rules.fall : rules.rise;
  if (against >= needed) return { up: ok, against: 0, agreeing: 1 };
  return { up: state.up, against, agreeing: 0 };
}
