// Decides from successive probe results whether a target is up. Pure: no clock, no I/O.

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
