import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compact, spelledUptime } from './top-screen.ts';

test.each<[number | null, string]>([
  [null, '-'],
  [0, '0'],
  [0.001, '<0.1'],
  [0.05, '0.1'],
  [1, '1'],
  [9.94, '9.9'],
  [9.95, '10'],
  [42.4, '42'],
  [999.4, '999'],
  [999.6, '1k'],
  [1234, '1.2k'],
  [56_789, '57k'],
  [999_999, '1M'],
  [34_567_890, '35M'],
  [1.5e9, '1.5G'],
  [1e21, 'many'],
])('%d is shown as %s', (value, text) => {
  expect(compact(value)).toBe(text);
});

test('a number is never wider than four characters', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e20, noNaN: true }), (value) => {
      expect(compact(value).length).toBeLessThanOrEqual(4);
    }),
  );
});

test.each<[number, string]>([
  [0, '0s'],
  [59.9, '59s'],
  [60, '1m 00s'],
  [3599, '59m 59s'],
  [3600, '1h 00m'],
  [86_399, '23h 59m'],
  [86_400, '1d 0h'],
  [12 * 86_400 + 3 * 3600, '12d 3h'],
  [-1, '0s'],
])('%d seconds are %s', (seconds, text) => {
  expect(spelledUptime(seconds)).toBe(text);
});
