import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Backoff, WatchRetry } from './watch-retry.ts';

const backoff = (random: () => number) => new Backoff({ firstMs: 200, maxMs: 30_000, random });

describe('the wait after a failure', () => {
  test('doubles up to the maximum, and starts again after a reset', () => {
    const waits = backoff(() => 1);
    expect(Array.from({ length: 10 }, () => waits.next())).toEqual([
      200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
    ]);
    waits.reset();
    expect(waits.next()).toBe(200);
  });

  test('is never below the Retry-After of the server, and stays within its bounds for thousands of failures', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.nat(60_000)), { minLength: 1, maxLength: 3000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (asked, random) => {
          const waits = backoff(() => random);
          for (const retryAfterMs of asked) {
            const ms = waits.next({ retryAfterMs });
            expect(ms).toBeGreaterThanOrEqual(Math.max(100, retryAfterMs ?? 0));
            expect(ms).toBeLessThanOrEqual(Math.max(30_000, 1.1 * (retryAfterMs ?? 0)));
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test('respects a lower maximum for one call', () => {
    const waits = backoff(() => 1);
    for (let each = 0; each < 20; each++) waits.next();
    expect(waits.next({ maxMs: 10_000 })).toBe(10_000);
  });
});

test('the longest wait for a forbidden resource and for an absent one is set for each', () => {
  const longest = (code: 'forbidden' | 'not-found' | 'unreachable') => {
    const limits = { maxForbiddenBackoffMs: 300_000, maxAbsentBackoffMs: 30_000 };
    const retry = new WatchRetry({ now: () => 0, random: () => 1, ...limits });
    const waits = Array.from({ length: 20 }, () => retry.failed(null, code).delayMs);
    return Math.max(...waits);
  };
  expect([longest('forbidden'), longest('not-found'), longest('unreachable')]).toEqual([
    300_000, 30_000, 10_000,
  ]);
});
