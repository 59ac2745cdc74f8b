import { beforeEach, describe, expect, test } from 'vitest';
import { SteadyMap } from '../../kube/steady-map.ts';
import { WrittenObjects } from './written-objects.ts';

const item = (version: string) => ({ version });
const map = (...items: readonly (readonly [string, string])[]) =>
  SteadyMap.empty<{ version: string }>().with(items.map(([key, version]) => [key, item(version)] as const));
const shown = (version?: string) => (version === undefined ? map() : map(['a', version]));

describe('what we wrote', () => {
  /** How far the watch is; and the list that it began with. */
  let watched: number;
  let list: number;
  let written: WrittenObjects<{ version: string }>;
  beforeEach(() => {
    watched = 0;
    list = 0;
    written = new WrittenObjects(({ version }) => version, {
      moment: () => list,
      hasTold: (version, moment) => list > moment || (version !== null && watched >= Number(version)),
    });
  });

  test('stands until the watch shows it', () => {
    written.record('a', item('2'), '1');
    expect(written.over(shown('1')).get('a')).toEqual(item('2'));
    const told = shown('2');
    expect(written.over(told)).toBe(told);
  });

  test('gives way to what somebody else wrote after it', () => {
    written.record('a', item('2'), '1');
    expect(written.over(shown('3')).get('a')).toEqual(item('3'));
    // Even when the watch is set back: it is the judge from now on.
    expect(written.over(shown('1')).get('a')).toEqual(item('1'));
  });

  test('is there before the watch knows of a new object', () => {
    written.record('a', item('1'), null);
    expect(written.over(shown()).get('a')).toEqual(item('1'));
  });

  test('is gone before the watch knows of a deletion', () => {
    written.record('a', null, '1');
    expect(written.over(shown('1')).has('a')).toBe(false);
    expect(written.over(shown()).has('a')).toBe(false);
  });

  test('follows our own writes while the watch tells of none of them, or of one after the other', () => {
    written.record('a', item('2'), '1');
    written.record('a', item('3'), '2');
    expect(written.over(shown('1')).get('a')).toEqual(item('3'));
    expect(written.over(shown('2')).get('a')).toEqual(item('3'));
    expect(written.over(shown('3')).get('a')).toEqual(item('3'));
    written.record('b', item('7'), null);
    written.record('b', null, '7');
    expect(written.over(shown('3')).has('b')).toBe(false);
  });

  test('is believed for as long as the watch has not come so far, and no longer', () => {
    written.record('a', item('7'), null);
    watched = 6;
    expect(written.over(shown()).get('a')).toEqual(item('7'));
    // It told of our write and of somebody's deletion at once, which looks as if nothing had happened.
    watched = 8;
    expect(written.over(shown()).has('a')).toBe(false);
  });

  test('that was told before we heard so ourselves is not believed at all', () => {
    watched = 8;
    written.record('a', item('7'), null);
    expect(written.over(shown()).has('a')).toBe(false);
  });

  test('of a deletion is believed until the watch shows anything else', () => {
    written.record('a', null, '1');
    watched = 1_000_000;
    expect(written.over(shown('1')).has('a')).toBe(false);
    expect(written.over(shown('2')).get('a')).toEqual(item('2'));
  });

  test('is no longer believed when everything was listed since: after a backup the versions begin again', () => {
    written.record('a', item('7'), null);
    written.record('b', null, '3');
    list += 1;
    const listed = map(['b', '3']);
    expect(written.over(listed)).toBe(listed);
  });

  test('leaves the others alone, and what the watch shows as it is when there is nothing', () => {
    const items = map(['a', '1'], ['b', '7']);
    expect(written.over(items)).toBe(items);
    written.record('a', null, '1');
    expect([...written.over(items).keys()]).toEqual(['b']);
  });
});
