// The part of the project's README that shows the last result. It stands between two marks, and only a whole run replaces it.
import type { Report } from './report.ts';
import { number, row, table } from './table.ts';
import type { Verdict } from './verdicts.ts';

const BEGIN = '<!-- bench: written by npm run bench -->';
const END = '<!-- bench: end -->';

/** The goals in three columns. The report has quartiles, rivals and verdicts. */
export function readmeTable(goals: readonly Verdict[]): string {
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

/** The README with this result in it; null when it has no place for one. */
export function readmeWith(readme: string, report: Report, goals: string): string | null {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin) return null;
  const { machine, rounds, seconds } = report;
  const when = `${machine.date.slice(0, 10)}, ${rounds} rounds × ${seconds} s, commit ${machine.commit}`;
  return readme.slice(0, begin) + [BEGIN, goals, '', when, ''].join('\n') + readme.slice(end);
}
