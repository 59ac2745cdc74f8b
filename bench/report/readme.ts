// The section of the project's README with the last result, between two marks. Only a complete run replaces it.
import type { Report } from './report.ts';
import { number, row, table } from './table.ts';
import type { GoalVerdict } from './verdicts.ts';

const BEGIN = '<!-- bench: written by npm run bench -->';
const END = '<!-- bench: end -->';

/** Shows the goals in three columns. The report adds quartiles, rivals and verdicts. */
export function readmeTable(goals: readonly GoalVerdict[]): string {
  return table(
    ['measured against HAProxy', 'result', 'goal'],
    goals.map(({ title, measured, kind, must }) =>
      row(
        title,
        measured === null ? '–' : `**${number(measured.median)}**`,
        `${kind === 'most' ? '≤' : '≥'} ${number(must)}`,
      ),
    ),
  );
}

/** Returns the README with this result, or null if the README has no marks. */
export function readmeWith(readme: string, report: Report, goals: string): string | null {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin) return null;
  const { machine, rounds, seconds } = report;
  const when = `${machine.date.slice(0, 10)}, ${rounds} rounds × ${seconds} s, commit ${machine.commit}`;
  return readme.slice(0, begin) + [BEGIN, goals, '', when, ''].join('\n') + readme.slice(end);
}
