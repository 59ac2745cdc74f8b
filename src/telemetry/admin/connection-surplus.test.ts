import { expect, test } from 'vitest';
import { sourceOf } from '../../routing/addresses.ts';
import { surplus } from './connection-surplus.ts';

/** `a1 b1 a2`: oldest first. The letter is the source. */
const held = (text: string, weight = 1) =>
  text.split(' ').map((name) => ({ name, source: name.slice(0, 1), weight }));
const names = (chosen: readonly { readonly name: string }[]) => chosen.map(({ name }) => name).join(' ');

test.each<[title: string, all: string, limit: number, evicted: string]>([
  ['nothing, while all fit', 'a1 a2 b1', 3, ''],
  ['the oldest of the address that holds most', 'b1 a1 a2 a3', 3, 'a1'],
  [
    'no connection of an address that has one, while another address has more',
    'b1 a1 a2 a3 a4',
    2,
    'a1 a2 a3',
  ],
  ['from each in turn, when all hold the same', 'a1 b1 c1 a2 b2 c2', 3, 'a1 b1 c1'],
  ['the oldest, when all hold one', 'a1 b1 c1 d1', 2, 'a1 b1'],
  ['all but the last', 'a1 a2 a3', 0, 'a1 a2'],
])('evicted is %s', (_title, all, limit, evicted) => {
  expect(names(surplus(held(all), limit))).toBe(evicted);
});

test('the surplus is chosen by weight, not by number', () => {
  const all = [...held('a1 a2 a3', 10), ...held('b1', 100), ...held('b2', 50)];
  expect(names(surplus(all, 100))).toBe('b1');
  expect(names(surplus(all, 50))).toBe('b1 b2');
});

test('a single answer may be larger than the limit', () => {
  expect(surplus(held('a1', 100), 50)).toEqual([]);
});

test.each<[address: string | undefined, source: string]>([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  [undefined, ''],
])('the source of %s is %s', (address, source) => {
  expect(sourceOf(address)).toBe(source);
});
