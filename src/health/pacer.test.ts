import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { busiestWindow } from '../../test/health/busiest-window.ts';
import { Pacer } from './probe-queue.ts';

/** Starts as many probes as allowed until `untilMs`. Each wake-up is late by `lateness()`. */
function greedy(pacer: Pacer, untilMs: number, lateness: () => number): number[] {
  const starts: number[] = [];
  for (let nowMs = 0; nowMs < untilMs; nowMs += Math.ceil(pacer.waitMs(nowMs)) + lateness()) {
    const count = pacer.allowed(nowMs);
    if (count === 0) continue;
    pacer.started(nowMs, count);
    starts.push(...Array.from({ length: count }, () => nowMs));
  }
  return starts;
}

describe('the pacer', () => {
  for (const lateMs of [0, 1, 20, 90]) {
    test(`allows the full rate although each call is ${lateMs} ms late`, () => {
      const starts = greedy(new Pacer(200), 10_000, () => lateMs);
      expect(starts.length).toBeGreaterThan(1980);
      expect(starts.length).toBeLessThanOrEqual(2021);
    });
  }

  test('allows only a small burst after idle time', () => {
    const pacer = new Pacer(200);
    pacer.started(0, 1);
    expect(pacer.allowed(60_000)).toBe(21);
    pacer.started(60_000, 21);
    expect(pacer.allowed(60_000)).toBe(0);
    expect(pacer.waitMs(60_000)).toBe(5);
  });

  test('allows a start exactly when the wait time is zero', () => {
    const pacer = new Pacer(200);
    pacer.started(0, 21);
    for (const [nowMs, waitMs, allowed] of [
      [0, 5, 0],
      [4, 1, 0],
      [5, 0, 1],
      [9, 0, 1],
      [10, 0, 2],
    ] as const) {
      expect([pacer.waitMs(nowMs), pacer.allowed(nowMs)]).toEqual([waitMs, allowed]);
    }
  });

  test('allows no more than a tenth above the rate in any second, for any delays', () => {
    const delays = fc.infiniteStream(
      fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 400 })),
    );
    fc.assert(
      fc.property(delays, fc.integer({ min: 1, max: 500 }), (stream, perSecond) => {
        const starts = greedy(new Pacer(perSecond), 5000, () => stream.next().value as number);
        expect(busiestWindow(starts, 1000)).toBeLessThanOrEqual(1 + perSecond * 1.1);
      }),
      { numRuns: 50 },
    );
  });
});
