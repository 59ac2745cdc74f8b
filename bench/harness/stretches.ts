// Computes the request rate in intervals (stretches) of one run, from the counts that it recorded. Two runs use different
// connections, which are rarely equally fast. Within one run the connections are the same.
import { median } from './statistics.ts';

export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

export type Progress = readonly (readonly [atMs: number, done: number])[];

/** Returns the count at `atMs`, interpolated between two recorded counts. Returns NaN outside the run. */
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

/** Returns the median ratio of every second stretch to the mean of its two neighbours. */
export function oddAgainstNeighbours(progress: Progress, stretches: readonly Stretch[]): number {
  const rates = stretches.map((each) => ratePerSecond(progress, each));
  // A sort could hide a NaN, so an unknown rate is an error.
  if (rates.some(Number.isNaN)) throw new Error('the run was over before its stretches were');
  return median(
    rates.flatMap((rate, i) => {
      const next = rates[i + 1];
      return i % 2 === 0 || next === undefined ? [] : [rate / ((rates[i - 1]! + next) / 2)];
    }),
  );
}
