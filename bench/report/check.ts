// Computes the output of `--check` and whether it passes. Pure. A requested goal that could not be judged does not pass.
import type { Correctness } from '../scenarios/correctness.ts';
import { type GoalVerdict, OURS } from './verdicts.ts';

export interface GoalCheck {
  readonly lines: readonly string[];
  readonly passes: boolean;
}

function lineOf({ title, must, measured, verdict, missedBy, reason }: GoalVerdict): string[] {
  if (verdict === 'failed') return [`FAILED ${title}: ${reason}`];
  if (verdict === 'disturbed') return [`NOT JUDGED ${title}: the machine was disturbed, measure again`];
  if (verdict !== 'missed') return [];
  const by = (missedBy * 100).toFixed(1);
  return [`MISSED ${title}: ${measured!.median.toFixed(3)}, goal ${must.toFixed(2)}, by ${by} %`];
}

export function checkOf(goals: readonly GoalVerdict[], correctness: readonly Correctness[]): GoalCheck {
  const unmet = goals.flatMap(lineOf);
  const incorrect = correctness.filter(
    ({ peer, disqualified }) => disqualified !== null && peer.startsWith('isthmus-'),
  );
  return {
    lines: [...unmet, ...incorrect.map(({ peer, disqualified }) => `INCORRECT ${peer}: ${disqualified}`)],
    // The other engine has no goals. Its failures are listed but do not affect the outcome.
    passes: unmet.length === 0 && incorrect.every(({ peer }) => peer !== OURS),
  };
}
