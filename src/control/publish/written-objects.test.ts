import { beforeEach, describe, expect, test } from 'vitest';
import { WrittenObjects } from './written-objects.ts';

const item = (version: string) => ({ version });
const shown = (version?: string) => new Map(version === undefined ? [] : [['a', item(version)]]);

describe('what we wrote', () => {
  let nowMs = 0;
  let written: WrittenObjects<{ version: string }>;
  beforeEach(() => {
    nowMs = 0;
    written = new WrittenObjects(
      ({ version }) => version,
      () => nowMs,
    );
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

  test('is believed for two seconds, no longer', () => {
    written.record('a', null, '1');
    nowMs = 1999;
    expect(written.over(shown('1')).has('a')).toBe(false);
    nowMs = 2000;
    expect(written.over(shown('1')).has('a')).toBe(true);
  });

  test('says when it will no longer be believed, and nothing once the watch has told', () => {
    expect(written.expiresAtMs()).toBeNull();
    written.record('a', item('2'), '1');
    nowMs = 500;
    written.record('b', item('7'), null);
    expect(written.expiresAtMs()).toBe(2000);
    written.over(shown('2'));
    expect(written.expiresAtMs()).toBe(2500);
  });

  test('leaves the others alone, and what the watch shows as it is when there is nothing', () => {
    const items = new Map([
      ['a', item('1')],
      ['b', item('7')],
    ]);
    expect(written.over(items)).toBe(items);
    written.record('a', null, '1');
    expect([...written.over(items).keys()]).toEqual(['b']);
  });
});
