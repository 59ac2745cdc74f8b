// What a run did in stretches of its own time, told from the counts that it wrote down. To compare two runs compares their
// connections, too, which are seldom equally fast: within one run they are the same.
import { median } from './statistics.ts';

export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

export type Progress = readonly (readonly [atMs: number, done: number])[];

/** How many were done at that moment; between two counts, in proportion. Not a number where the run had not begun or was over. */
export function doneAt(progress: Progress, atMs: number): number {
  const next = progress.findIndex(([each]) => each >= atMs);
  const after = progress[next];
  if (after === undefined) return Number.NaN;
  const before = progress[next - 1];
  if (before === undefined) return after[0] === atMs ? after[1] : Number.NaN;
  return before[1] + ((after[1] - before[1]) * (atMs - before[0])) / (after[0] - before[0]);
}

export function ratePerSecond(progress: Progress, { fromMs, toMs }: Stretch): number {
  return (1000 * (doneAt(progress, toMs) - doneAt(progress, fromMs))) / (toMs - fromMs);
}

/** The median of what every second stretch reached of the two beside it. */
export function oddAgainstNeighbours(progress: Progress, stretches: readonly Stretch[]): number {
  const rates = stretches.map((each) => ratePerSecond(progress, each));
  // One that is not known must not vanish in a sort.
  if (rates.some(Number.isNaN)) throw new Error('the run was over before its stretches were');
  return median(
    rates.flatMap((rate, i) => {
      const next = rates[i + 1];
      return i % 2 === 0 || next === undefined ? [] : [rate / ((rates[i - 1]! + next) / 2)];
    }),
  );
}
