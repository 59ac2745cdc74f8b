import { describe, expect, test } from 'vitest';
import { doneAt, oddAgainstNeighbours, ratePerSecond } from '../../bench/harness/stretches.ts';

const PROGRESS = [
  [1000, 0],
  [1100, 100],
  [1200, 300],
  [1300, 400],
] as const;

describe('what was done by a moment', () => {
  test('lies between the counts before and after', () => {
    expect([1000, 1050, 1100, 1125, 1300].map((each) => doneAt(PROGRESS, each))).toEqual([
      0, 50, 100, 150, 400,
    ]);
  });

  test('is not known outside of the run', () => {
    expect([999, 1301].map((each) => doneAt(PROGRESS, each))).toEqual([Number.NaN, Number.NaN]);
    expect(doneAt([], 1000)).toBeNaN();
  });
});

describe('the rate', () => {
  test('is that of the stretch alone', () => {
    expect(ratePerSecond(PROGRESS, { fromMs: 1100, toMs: 1200 })).toBe(2000);
    expect(ratePerSecond(PROGRESS, { fromMs: 1100, toMs: 1300 })).toBe(1500);
  });
});

describe('every second stretch against those beside it', () => {
  /** A run that did so many in each of its stretches of 100 ms. */
  const run = (...done: number[]) => {
    const progress: [number, number][] = [[0, 0]];
    for (const each of done) progress.push([100 * progress.length, progress.at(-1)![1] + each]);
    const stretches = done.map((_, i) => ({ fromMs: 100 * i, toMs: 100 * (i + 1) }));
    return { progress, stretches };
  };

  test('is told by the median: one stretch in which the machine was slow does not count', () => {
    const { progress, stretches } = run(100, 90, 100, 10, 100, 90, 100);
    expect(oddAgainstNeighbours(progress, stretches)).toBeCloseTo(0.9);
  });

  test('is not moved by a machine that gets slower all the time', () => {
    const { progress, stretches } = run(120, 99, 100, 81, 80, 63, 60);
    expect(oddAgainstNeighbours(progress, stretches)).toBeCloseTo(0.9);
  });

  test('is no result when the run was over too early', () => {
    const { progress, stretches } = run(100, 90, 100);
    expect(() => oddAgainstNeighbours(progress.slice(0, -1), stretches)).toThrow('over before');
  });
});
