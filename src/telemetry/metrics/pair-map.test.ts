import { expect, test } from 'vitest';
import { PairMap } from './pair-map.ts';

test('a value is made once for its pair of keys, and similar pairs are not confused', () => {
  const made: string[] = [];
  const map = new PairMap((first, second) => {
    made.push(`${first}+${second}`);
    return { first, second };
  });
  expect(map.at('a', 'b/c')).toBe(map.at('a', 'b/c'));
  expect(map.at('a/b', 'c')).not.toBe(map.at('a', 'b/c'));
  expect(map.at('b/c', 'a')).toEqual({ first: 'b/c', second: 'a' });
  expect(made).toEqual(['a+b/c', 'a/b+c', 'b/c+a']);
  expect([map.find('a', 'b/c')?.first, map.find('a', 'x'), map.find('x', 'a')]).toEqual([
    'a',
    undefined,
    undefined,
  ]);
  expect([...map.values()]).toHaveLength(3);
});

test('a value that is not kept is made again', () => {
  const map = new PairMap((first, second) => ({ name: first + second, count: 0 }));
  for (const [first, second] of [
    ['a', '1'],
    ['a', '2'],
    ['b', '1'],
  ] as const)
    map.at(first, second).count += 1;
  map.keep(({ name }) => name === 'a2');
  expect([...map.values()]).toEqual([{ name: 'a2', count: 1 }]);
  expect(map.at('a', '1').count).toBe(0);
  expect(map.at('a', '2').count).toBe(1);
});
