import { beforeEach, describe, expect, test } from 'vitest';
import { PersistentMap } from '../../kube/persistent-map.ts';
import { WrittenObjects } from './written-objects.ts';

const item = (version: string) => ({ version });
const map = (...items: readonly (readonly [string, string])[]) =>
  PersistentMap.empty<{ version: string }>().with(
    items.map(([key, version]) => [key, item(version)] as const),
  );
const shown = (version?: string) => (version === undefined ? map() : map(['a', version]));

describe('a pending write', () => {
  /** The progress of the watch, and the list that it started with. */
  let watched: number;
  let list: number;
  let written: WrittenObjects<{ version: string }>;
  beforeEach(() => {
    watched = 0;
    list = 0;
    written = new WrittenObjects(({ version }) => version, {
      listsBegun: () => list,
      hasReached: (version, listsBegun) =>
        list > listsBegun || (version !== null && watched >= Number(version)),
    });
  });

  test('stays until the watch shows it', () => {
    written.record('a', item('2'), '1');
    expect(written.over(shown('1')).get('a')).toEqual(item('2'));
    const items = shown('2');
    expect(written.over(items)).toBe(items);
  });

  test('is dropped after a later write of another writer', () => {
    written.record('a', item('2'), '1');
    expect(written.over(shown('3')).get('a')).toEqual(item('3'));
    // From now on the watch decides, even if it shows an older version again.
    expect(written.over(shown('1')).get('a')).toEqual(item('1'));
  });

  test('adds a new object before the watch shows it', () => {
    written.record('a', item('1'), null);
    expect(written.over(shown()).get('a')).toEqual(item('1'));
  });

  test('hides a deleted object before the watch drops it', () => {
    written.record('a', null, '1');
    expect(written.over(shown('1')).has('a')).toBe(false);
    expect(written.over(shown()).has('a')).toBe(false);
  });

  test('replaces our earlier write, also while the watch shows the object before or between them', () => {
    written.record('a', item('2'), '1');
    written.record('a', item('3'), '2');
    expect(written.over(shown('1')).get('a')).toEqual(item('3'));
    expect(written.over(shown('2')).get('a')).toEqual(item('3'));
    expect(written.over(shown('3')).get('a')).toEqual(item('3'));
    written.record('b', item('7'), null);
    written.record('b', null, '7');
    expect(written.over(shown('3')).has('b')).toBe(false);
  });

  test('is kept until the watch has reached its version, and no longer', () => {
    written.record('a', item('7'), null);
    watched = 6;
    expect(written.over(shown()).get('a')).toEqual(item('7'));
    // The watch delivers our write and a foreign deletion together, so its items look unchanged.
    watched = 8;
    expect(written.over(shown()).has('a')).toBe(false);
  });

  test('is not kept when the watch has passed its version before our request returns', () => {
    watched = 8;
    written.record('a', item('7'), null);
    expect(written.over(shown()).has('a')).toBe(false);
  });

  test('of a deletion is kept until the watch shows any other state', () => {
    written.record('a', null, '1');
    watched = 1_000_000;
    expect(written.over(shown('1')).has('a')).toBe(false);
    expect(written.over(shown('2')).get('a')).toEqual(item('2'));
  });

  test('is dropped after a new list, because versions start again after a restore from a backup', () => {
    written.record('a', item('7'), null);
    written.record('b', null, '3');
    list += 1;
    const listed = map(['b', '3']);
    expect(written.over(listed)).toBe(listed);
  });

  test('does not affect other objects, and without pending writes returns the items of the watch', () => {
    const items = map(['a', '1'], ['b', '7']);
    expect(written.over(items)).toBe(items);
    written.record('a', null, '1');
    expect([...written.over(items).keys()]).toEqual(['b']);
  });
});
