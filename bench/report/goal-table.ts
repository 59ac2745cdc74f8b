// Renders the goals as a table with a summary line, for the report.
import { BASELINE } from './ratios.ts';
import { inCell, number, row, table } from './table.ts';
import { type GoalVerdict, missedAgainstBest } from './verdicts.ts';

function verdictWords(goal: GoalVerdict): string {
  const { verdict, missedBy, againstBest, reason } = goal;
  const percent = (share: number): string => `${number(share * 100)} %`;
  const byMore = missedAgainstBest(goal);
  // The goals are judged against HAProxy's defaults. If another HAProxy configuration would change the verdict, the table must show it.
  const rival =
    againstBest === null || againstBest.peer === BASELINE || byMore === 0
      ? null
      : `${againstBest.peer} (${number(againstBest.ratio.median)})`;
  switch (verdict) {
    case 'aim':
    case 'must':
      return `${verdict === 'aim' ? 'reaches the aim' : 'met'}${rival === null ? '' : `; not against ${rival}`}`;
    case 'missed':
      return `missed by ${percent(missedBy)}${rival === null ? '' : `; against ${rival} by ${percent(byMore)}`}`;
    case 'disturbed':
      return 'the machine was disturbed: **not judged**';
    case 'failed':
      return `**failed**: ${inCell(reason ?? '')}`;
    case 'not measured':
      return 'not measured';
  }
}

function goalRow(goal: GoalVerdict): string {
  const { title, kind, must, aim, measured, againstBest } = goal;
  const sign = kind === 'most' ? '≤' : '≥';
  const seen =
    measured === null
      ? '–'
      : `**${number(measured.median)}** [${number(measured.q1)}, ${number(measured.q3)}]`;
  const other = againstBest === null ? '–' : `${number(againstBest.ratio.median)} (${againstBest.peer})`;
  return row(title, seen, other, `${sign} ${number(must)}`, `${sign} ${number(aim)}`, verdictWords(goal));
}

/** Counts the missed goals: as judged, and against the best HAProxy configuration. */
export function goalSummary(goals: readonly GoalVerdict[]): string {
  const count = (wanted: GoalVerdict['verdict']): number =>
    goals.filter(({ verdict }) => verdict === wanted).length;
  const others = (['failed', 'disturbed', 'not measured'] as const)
    .filter((each) => count(each) > 0)
    .map((each) => `, ${count(each)} ${each === 'disturbed' ? 'not judged' : each}`);
  const rivals = Math.max(0, ...goals.map(({ againstBest }) => againstBest?.of ?? 0));
  const strict = goals.filter((goal) => missedAgainstBest(goal) > 0).length;
  return [
    `${count('missed')} of ${goals.length} goals missed${others.join('')}`,
    rivals < 2 ? '.' : `; against the best of ${rivals} HAProxy configurations ${strict}.`,
  ].join('');
}

function goalTable(goals: readonly GoalVerdict[]): string {
  return table(
    ['goal (isthmus-native)', 'measured', 'against the HAProxy that does best here', 'must', 'aim', ''],
    goals.map(goalRow),
  );
}

export const goalSection = (goals: readonly GoalVerdict[]): string =>
  `${goalTable(goals)}\n\n${goalSummary(goals)}`;
