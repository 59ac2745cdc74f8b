// Compares two lists of problems: each problem is reported once when it appears, each origin once when it has recovered. Pure.
import type { Problem } from '../../control/objects/problem.ts';

export interface ProblemChanges {
  readonly appeared: readonly Problem[];
  /** Origins that no longer have a problem. */
  readonly recovered: readonly string[];
}

export function problemChanges(before: readonly Problem[], now: readonly Problem[]): ProblemChanges {
  const known = new Set(before.map(({ origin, reason }) => `${origin}\0${reason}`));
  const troubled = new Set(now.map(({ origin }) => origin));
  return {
    appeared: now.filter(({ origin, reason }) => !known.has(`${origin}\0${reason}`)),
    recovered: [...new Set(before.map(({ origin }) => origin))].filter((origin) => !troubled.has(origin)),
  };
}
