// The order of the test files: the listed files come first.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { byPlace, LONGEST } from '../support/run/longest-first.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('every file in the list of long files exists, and is listed once', () => {
  expect(LONGEST.filter((file) => !existsSync(`${root}${file}`))).toEqual([]);
  expect(new Set(LONGEST).size).toBe(LONGEST.length);
});

test('listed files come first in the order of the list, and the others keep their order', () => {
  const [first = '', second = ''] = LONGEST;
  const specifications = ['test/z.test.ts', second, 'test/a.test.ts', first].map((file) => ({
    moduleId: `${root}${file}`,
  }));
  expect(specifications.sort(byPlace).map(({ moduleId }) => moduleId.slice(root.length))).toEqual([
    first,
    second,
    'test/z.test.ts',
    'test/a.test.ts',
  ]);
});
