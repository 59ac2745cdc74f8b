// The part of the project's README that shows the last result: between two marks, rewritten by a run that measured the main things.
import type { Report } from './report.ts';

const BEGIN = '<!-- bench: written by npm run bench -->';
const END = '<!-- bench: end -->';
const MAIN = ['new-connections', 'latency', 'requests', 'bulk', 'idle-memory'];

/** The README with this result in it; null when it has no place for one, or the run measured too little to be shown. */
export function readmeWith(readme: string, report: Report, goals: string): string | null {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  const isComplete = MAIN.every((wanted) => report.results.some(({ name }) => name === wanted));
  if (begin < 0 || end < begin || !isComplete) return null;
  const { machine } = report;
  const where = `${machine.date.slice(0, 10)}, commit ${machine.commit}, ${machine.cores} × ${machine.cpu}, kernel ${machine.kernel}`;
  const shown = [BEGIN, goals, '', `${where}. [All of it](bench/results/latest.md)`, ''].join('\n');
  return readme.slice(0, begin) + shown + readme.slice(end);
}
