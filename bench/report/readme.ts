// The part of the project's README that shows the last result: between two marks, rewritten by a whole run.
import type { Report } from './report.ts';

const BEGIN = '<!-- bench: written by npm run bench -->';
const END = '<!-- bench: end -->';

/** The README with this result in it; null when it has no place for one. */
export function readmeWith(readme: string, report: Report, goals: string): string | null {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin) return null;
  const { machine, rounds, seconds } = report;
  const where = `${machine.date.slice(0, 10)}, ${rounds} rounds × ${seconds} s, commit ${machine.commit}, ${machine.cores} × ${machine.cpu}, kernel ${machine.kernel}`;
  const shown = [BEGIN, goals, '', `${where}. [All of it](bench/results/latest.md)`, ''].join('\n');
  return readme.slice(0, begin) + shown + readme.slice(end);
}
