import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatTimestamp, parseTimestamp, TimestampTracker } from './timestamp-liveness.ts';

function setup() {
  const clock = { ms: 5000 };
  return { clock, tracker: new TimestampTracker({ now: () => clock.ms }) };
}

describe('the timestamp of a slice has expired', () => {
  test('if it did not change for 30 s since it was first seen, with any value', () => {
    const { clock, tracker } = setup();
    tracker.observe([{ name: 'a', timestamp: '1999-01-01T00:00:00+00:00' }]);
    clock.ms += 29_999;
    tracker.observe([{ name: 'a', timestamp: '1999-01-01T00:00:00+00:00' }]);
    expect(tracker.timestampExpired('a')).toBe(false);
    expect(tracker.nextExpiryMs()).toBe(35_000);
    clock.ms += 1;
    expect(tracker.timestampExpired('a')).toBe(true);
    expect(tracker.nextExpiryMs()).toBeNull();
  });

  test('only if it does not change, to any value', () => {
    const { clock, tracker } = setup();
    for (const timestamp of [
      '2999-01-01T00:00:00+00:00',
      '1970-01-01T00:00:00+00:00',
      'nonsense',
      null,
      '',
    ]) {
      tracker.observe([{ name: 'a', timestamp }]);
      clock.ms += 29_999;
      expect(tracker.timestampExpired('a')).toBe(false);
    }
    clock.ms += 1;
    expect(tracker.timestampExpired('a')).toBe(true);
  });

  test('but not while the API is unreachable, nor for its full time after that', () => {
    const { clock, tracker } = setup();
    tracker.observe([{ name: 'a', timestamp: 'x' }]);
    clock.ms += 300_000;
    tracker.observe([{ name: 'a', timestamp: 'x' }], false);
    tracker.observe([{ name: 'a', timestamp: 'x' }]);
    clock.ms += 29_999;
    expect(tracker.timestampExpired('a')).toBe(false);
    clock.ms += 1;
    expect(tracker.timestampExpired('a')).toBe(true);
  });

  test('separately for each slice, and never for an unknown or deleted slice', () => {
    const { clock, tracker } = setup();
    tracker.observe([{ name: 'a', timestamp: 'x' }]);
    clock.ms += 20_000;
    tracker.observe([
      { name: 'a', timestamp: 'x' },
      { name: 'b', timestamp: 'x' },
    ]);
    clock.ms += 10_000;
    expect(['a', 'b', 'c'].map((name) => tracker.timestampExpired(name))).toEqual([true, false, false]);
    tracker.observe([{ name: 'b', timestamp: 'x' }]);
    expect(tracker.timestampExpired('a')).toBe(false);
  });
});

describe('a timestamp', () => {
  test('has a format that magnum-cluster-api-proxy can read', () => {
    expect(formatTimestamp(Date.UTC(2026, 0, 2, 3, 4, 5, 678))).toBe('2026-01-02T03:04:05.678000+00:00');
    expect(formatTimestamp(0)).toBe('1970-01-01T00:00:00.000000+00:00');
  });

  test.each<[text: string, ms: number | null]>([
    ['1970-01-01T00:00:01+00:00', 1000],
    ['1970-01-01T00:00:01.002+00:00', 1002],
    ['1970-01-01T00:00:01.002999+00:00', 1002],
    ['1970-01-01T00:00:01.002Z', 1002],
    ['1970-01-01T00:00:01.02+00:00', null],
    ['1970-01-01T00:00:01', null],
    ['1970-01-01T00:00:01+01:00', null],
    ['1970-01-01 00:00:01+00:00', null],
    ['1970-02-30T00:00:01+00:00', null],
    ['1970-01-01T24:00:00+00:00', null],
    ['1970-13-01T00:00:01+00:00', null],
    [' 1970-01-01T00:00:01+00:00', null],
    ['', null],
  ])('%j is read as %s', (text, ms) => {
    expect(parseTimestamp(text)).toBe(ms);
  });

  test('is read back with the same value', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => {
        expect(parseTimestamp(formatTimestamp(ms))).toBe(ms);
      }),
    );
  });
});
