import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changedList,
  isEqual,
  listChanges,
  settled,
  settledFields,
  settledList,
  settledMap,
} from './changes.ts';

interface Item {
  readonly key: string;
  readonly parts: readonly number[];
}
const item = (key: string, ...parts: number[]): Item => ({ key, parts });
const keyOf = ({ key }: Item) => key;

describe('the comparison of two values', () => {
  test.each<[title: string, a: unknown, b: unknown, expected: boolean]>([
    ['equal fields in another order are equal', { a: 1, b: [2] }, { b: [2], a: 1 }, true],
    ['an undefined field equals an absent one', { a: 1, b: undefined }, { a: 1 }, true],
    ['an absent field equals an undefined one', { a: 1 }, { a: 1, b: undefined }, true],
    ['a further field on the left differs', { a: 1, b: null }, { a: 1 }, false],
    ['a further field on the right differs', { a: 1 }, { a: 1, b: null }, false],
    ['null differs from an object', null, {}, false],
    ['an object differs from null', {}, null, false],
    ['a number differs from its text', 1, '1', false],
    ['lists of another length differ', [1], [1, 2], false],
    ['lists in another order differ', [1, 2], [2, 1], false],
    ['an empty list differs from an empty object', [], {}, false],
    ['an empty object differs from an empty list', {}, [], false],
    ['an empty object differs from an empty map', {}, new Map(), false],
    ['an empty map differs from an empty object', new Map(), {}, false],
    [
      'maps in another order are equal',
      new Map([
        [1, {}],
        [2, {}],
      ]),
      new Map([
        [2, {}],
        [1, {}],
      ]),
      true,
    ],
    ['maps with another value differ', new Map([[1, { a: 1 }]]), new Map([[1, { a: 2 }]]), false],
    ['sets in another order are equal', new Set(['a', 'b']), new Set(['b', 'a']), true],
    ['sets with another value differ', new Set(['a']), new Set(['b']), false],
    ['sets of another size differ', new Set(['a']), new Set(['a', 'b']), false],
    ['an empty set differs from an empty map', new Set(), new Map(), false],
    ['an empty object differs from an empty set', {}, new Set(), false],
    ['maps with another key differ', new Map([[1, undefined]]), new Map([[2, undefined]]), false],
  ])('%s', (_title, a, b, expected) => {
    expect(isEqual(a, b)).toBe(expected);
  });

  test('agrees with a strict deep comparison of any two JSON values', () => {
    const value = fc.jsonValue({ maxDepth: 3 }).map((each) => JSON.parse(JSON.stringify(each)));
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(isEqual(a, structuredClone(a))).toBe(true);
        expect(isEqual(a, b)).toBe(isDeepStrictEqual(a, b));
      }),
    );
  });
});

describe('a settled value', () => {
  test('is the old object if both are equal, and otherwise the new one', () => {
    const [old, next] = [item('a', 1), item('a', 2)];
    expect(settled(old, item('a', 1))).toBe(old);
    expect(settled(old, next)).toBe(next);
  });

  test('with the same references in all fields is the old object', () => {
    const parts = [1];
    const old = { key: 'a', parts };
    expect(settledFields(old, { key: 'a', parts })).toBe(old);
    const next = settledFields(old, { key: 'a', parts: [1] });
    expect(next).not.toBe(old);
    expect(Object.isFrozen(next)).toBe(true);
  });

  test('that is a list keeps each equal item, at any place', () => {
    const before = [item('a', 1), item('b', 2), item('c', 3)];
    expect(settledList(before, structuredClone(before), keyOf)).toBe(before);
    const next = settledList(before, [item('c', 3), item('b', 9), item('d', 4)], keyOf);
    expect(next).toEqual([item('c', 3), item('b', 9), item('d', 4)]);
    expect(next[0]).toBe(before[2]);
  });

  test('that is a list rebuilds a changed item from its old parts', () => {
    const rebuilt = item('a', 7);
    const asked: unknown[] = [];
    const next = settledList([item('a', 1)], [item('a', 2)], keyOf, (old, changed) => {
      asked.push([old, changed]);
      return rebuilt;
    });
    expect(next[0]).toBe(rebuilt);
    expect(asked).toEqual([[item('a', 1), item('a', 2)]]);
  });

  test('that is a map keeps each equal value', () => {
    const before = new Map([
      ['x', item('a', 1)],
      ['y', item('b', 2)],
    ]);
    expect(settledMap(before, structuredClone(before))).toBe(before);
    const next = settledMap(
      before,
      new Map([
        ['x', item('a', 1)],
        ['z', item('b', 2)],
      ]),
    );
    expect([...next.keys()]).toEqual(['x', 'z']);
    expect(next.get('x')).toBe(before.get('x'));
  });
});

describe('the changes of a list', () => {
  test('restore the later list on the other side of a message', () => {
    const list = fc.uniqueArray(fc.record({ key: fc.string(), parts: fc.array(fc.nat()) }), {
      selector: keyOf,
    });
    fc.assert(
      fc.property(list, list, (before, after) => {
        const mixed = [...after, ...before.filter((_, place) => place % 2 === 0)];
        const received = structuredClone(listChanges(before, mixed));
        const later = changedList(before, received);
        expect(later).toEqual(mixed);
        for (const [place, each] of mixed.entries())
          if (before.includes(each)) expect(later[place]).toBe(each);
        expect(later.every((each) => Object.isFrozen(each) || before.includes(each))).toBe(true);
      }),
    );
  });

  test('refer to an item with the same key, even if it is another object', () => {
    expect(listChanges([item('a')], [item('b'), item('a')], keyOf)).toEqual([item('b'), 0]);
  });

  test('that refer to a missing item are rejected', () => {
    expect(() => changedList([item('a')], [1])).toThrow('there is no item 1 in a list of 1');
  });
});
