import { describe, expect, test } from 'vitest';
import { problemChanges } from './desired-log.ts';

const problem = (origin: string, reason = 'broken') => ({ origin, reason });

describe('a problem', () => {
  test.each([
    ['that is new has appeared', [], [problem('a')], [problem('a')], []],
    ['that stays is not reported again', [problem('a')], [problem('a')], [], []],
    [
      'whose reason changes is reported again',
      [problem('a')],
      [problem('a', 'worse')],
      [problem('a', 'worse')],
      [],
    ],
    ['that disappears has recovered', [problem('a'), problem('b')], [problem('b')], [], ['a']],
    [
      'that disappears while its origin has another one is not a recovery',
      [problem('a'), problem('a', 'x')],
      [problem('a')],
      [],
      [],
    ],
    ['pair at one origin that disappears is one recovery', [problem('a'), problem('a', 'x')], [], [], ['a']],
  ])('%s', (_title, before, now, appeared, recovered) => {
    expect(problemChanges(before, now)).toEqual({ appeared, recovered });
  });
});
