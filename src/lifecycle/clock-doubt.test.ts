import { expect, test } from 'vitest';
import { clockDoubt } from './clock-doubt.ts';

test('a clock that shows a time before the date of the source code is reported as wrong', () => {
  expect(clockDoubt(0)).toBe(
    'the clock of this host says 1970-01-01T00:00Z, which is before this program was written',
  );
  expect(clockDoubt(Date.UTC(2026, 9, 31))).toContain('2026-10-31');
});

test('a clock that shows any later time is accepted', () => {
  expect(clockDoubt(Date.UTC(2026, 10, 2))).toBeNull();
  expect(clockDoubt(Date.UTC(2400, 0, 1))).toBeNull();
});
