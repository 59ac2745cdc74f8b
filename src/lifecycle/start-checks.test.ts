import { expect, test } from 'vitest';
import { clockProblem } from './start-checks.ts';

test('a clock that shows a time before the date of the source code is reported as wrong', () => {
  expect(clockProblem(0)).toBe(
    'the clock of this host says 1970-01-01T00:00Z, which is before this program was written',
  );
  expect(clockProblem(Date.UTC(2026, 9, 31))).toContain('2026-10-31');
});

test('a clock that shows any later time is accepted', () => {
  expect(clockProblem(Date.UTC(2026, 10, 2))).toBeNull();
  expect(clockProblem(Date.UTC(2400, 0, 1))).toBeNull();
});
