import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { busiestWindow } from '../../test/health/busiest-window.ts';
import { Pacer } from './pacer.ts';

/** Starts as often as it may, woken late by what `lateness` says, until `untilMs`. */
function greedy(pacer: Pacer, untilMs: number, lateness: () => number): number[] {
  const starts: number[] = [];
  for (let nowMs = 0; nowMs < untilMs; ) {
    const waitMs = pacer.waitMs(nowMs);
    if (waitMs > 0) nowMs += Math.ceil(waitMs) + lateness();
    else {
      pacer.started(nowMs);
      starts.push(nowMs);
    }
  }
  return starts;
}

describe('the pacer', () => {
  it('gives nearly the whole rate although timers are late', () => {
    const starts = greedy(new Pacer(200), 10_000, () => 1);
    expect(starts.length).toBeGreaterThan(1950);
    expect(starts.length).toBeLessThanOrEqual(2000);
  });

  it('gives credit for idle time to a few only', () => {
    const pacer = new Pacer(200);
    pacer.started(0);
    let burst = 0;
    for (; pacer.waitMs(60_000) === 0; burst++) pacer.started(60_000);
    expect(burst).toBe(4);
  });

  it('allows no more than the rate in any second, whatever the delays', () => {
    const delays = fc.infiniteStream(
      fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 400 })),
    );
    fc.assert(
      fc.property(delays, fc.integer({ min: 1, max: 500 }), (stream, perSecond) => {
        const starts = greedy(new Pacer(perSecond), 5000, () => stream.next().value as number);
        expect(busiestWindow(starts, 1000)).toBeLessThanOrEqual(perSecond);
      }),
      { numRuns: 50 },
    );
  });
});
