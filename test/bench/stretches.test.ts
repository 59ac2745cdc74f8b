import { describe, expect, test } from 'vitest';
import { doneAt, oddAgainstNeighbours, ratePerSecond } from '../../bench/harness/stretches.ts';

const PROGRESS = [
  [1000, 0],
  [1100, 100],
  [1200, 300],
  [1300, 400],
] as const;

describe('the work done at a point in time', () => {
  test('is interpolated between the counts before and after it', () => {
    expect([1000, 1050, 1100, 1125, 1300].map((each) => doneAt(PROGRESS, each))).toEqual([
      0, 50, 100, 150, 400,
    ]);
  });

  test('is not a number outside the run', () => {
    expect([999, 1301].map((each) => doneAt(PROGRESS, each))).toEqual([Number.NaN, Number.NaN]);
    expect(doneAt([], 1000)).toBeNaN();
  });
});

describe('the rate', () => {
  test('covers only the given stretch', () => {
    expect(ratePerSecond(PROGRESS, { fromMs: 1100, toMs: 1200 })).toBe(2000);
    expect(ratePerSecond(PROGRESS, { fromMs: 1100, toMs: 1300 })).toBe(1500);
  });
});

describe('the ratio of every second stretch to its neighbours', () => {
  /** A run with this much work in each of its stretches of 100 ms. */
  const run = (...done: number[]) => {
    const progress: [number, number][] = [[0, 0]];
    for (const each of done) progress.push([100 * progress.length, progress.at(-1)![1] + each]);
    const stretches = done.map((_, i) => ({ fromMs: 100 * i, toMs: 100 * (i + 1) }));
    return { progress, stretches };
  };

  test('is a median: one slow stretch does not change it', () => {
    const { progress, stretches } = run(100, 90, 100, 10, 100, 90, 100);
    expect(oddAgainstNeighbours(progress, stretches)).toBeCloseTo(0.9);
  });

  test('is the same on a machine that gets slower all the time', () => {
    const { progress, stretches } = run(120, 99, 100, 81, 80, 63, 60);
    expect(oddAgainstNeighbours(progress, stretches)).toBeCloseTo(0.9);
  });

  test('is an error if the run ended too early', () => {
    const { progress, stretches } = run(100, 90, 100);
    expect(() => oddAgainstNeighbours(progress.slice(0, -1), stretches)).toThrow('over before');
  });
});
