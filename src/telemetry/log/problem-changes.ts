// What is new between two lists of problems: each is told once when it appears and once when its origin is well again. Pure.
import type { Problem } from '../../control/sources/cluster-source.ts';

export interface ProblemChanges {
  readonly appeared: readonly Problem[];
  /** Origins that have no problem any more. */
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
