import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PersistentMap } from './persistent-map.ts';

type Change = readonly [string, number | undefined];
const key = fc.stringMatching(/^[ab]{0,4}$/);
const changes = fc.array(fc.tuple(key, fc.option(fc.nat(3), { nil: undefined })), { maxLength: 30 });

function changed(map: Map<string, number>, by: readonly Change[]): Map<string, number> {
  const copy = new Map(map);
  for (const [name, value] of by) {
    if (value === undefined) copy.delete(name);
    else copy.set(name, value);
  }
  return copy;
}

const sorted = (map: Iterable<readonly [string, number]>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe('a persistent map', () => {
  test('equals a plain map after the same changes, and leaves the previous map unchanged', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const before = PersistentMap.empty<number>().with(first);
        const plain = changed(new Map(), first);
        const after = before.with(second);
        const plainAfter = changed(plain, second);
        for (const [steady, expected] of [
          [before, plain],
          [after, plainAfter],
        ] as const) {
          expect(steady.size).toBe(expected.size);
          expect(sorted(steady)).toEqual(sorted(expected));
          expect([...steady.keys()].sort()).toEqual([...expected.keys()].sort());
          expect([...steady.values()].sort()).toEqual([...expected.values()].sort());
          const visited: [string, number][] = [];
          steady.forEach((value, name) => {
            visited.push([name, value]);
          });
          expect(sorted(visited)).toEqual(sorted(expected));
          for (const [name] of [...first, ...second]) {
            expect(steady.get(name)).toBe(expected.get(name));
            expect(steady.has(name)).toBe(expected.has(name));
          }
        }
      }),
    );
  });

  test('returns exactly the differences between any two maps', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const a = PersistentMap.empty<number>().with(first);
        const b = PersistentMap.empty<number>().with(second);
        const difference = [...b.changesSince(a)];
        expect(difference.every(([name, value]) => a.get(name) !== value)).toBe(true);
        expect(new Set(difference.map(([name]) => name)).size).toBe(difference.length);
        expect(sorted(a.with(difference))).toEqual(sorted(b));
      }),
    );
  });

  test('is the same object when nothing differs', () => {
    const map = PersistentMap.empty<number>().with([['a', 1]]);
    expect(map.with([])).toBe(map);
    expect(map.with([['a', 1]])).toBe(map);
    expect(map.with([['b', undefined]])).toBe(map);
    expect([...map.changesSince(map)]).toEqual([]);
  });
});
