import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wrapped } from './wrapped-text.ts';

test.each<[text: string, width: number, indent: number, lines: string[]]>([
  ['', 10, 2, ['']],
  ['a b', 10, 2, ['a b']],
  ['  one two three', 9, 4, ['  one two', '    three']],
  ['kube  serving  at a place', 17, 2, ['kube  serving  at', '  a place']],
  ['averyveryverylongword b', 5, 1, ['averyveryverylongword', ' b']],
])('%j in %i columns', (text, width, indent, lines) => {
  expect(wrapped(text, width, indent)).toEqual(lines);
});

test('no word is lost or cut, and no line of several words is too long', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 }), (words) => {
      const lines = wrapped(words.join(' '), 20, 3);
      expect(lines.flatMap((line) => line.trim().split(' '))).toEqual(words);
      for (const line of lines) if (line.trim().includes(' ')) expect(line.length).toBeLessThanOrEqual(20);
    }),
  );
});
