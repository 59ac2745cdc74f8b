import { expect, test } from 'vitest';
import { isAllowed } from './allowed-sources.ts';

const allowed = (allowedCidrs: readonly string[], address: string) =>
  isAllowed({ listener: 'ns/ssh', allowedCidrs }, address);

test('where no network is named everybody may come', () => {
  expect(allowed([], '192.0.2.1')).toBe(true);
  expect(allowed([], '2001:db8::1')).toBe(true);
});

test.each([
  ['192.0.2.77', true],
  ['192.0.3.1', false],
  ['10.1.2.3', true],
  ['10.1.2.4', false],
  ['fd00:1::5', true],
  ['fd01::5', false],
  ['::ffff:192.0.2.9', true],
  ['::ffff:198.51.100.1', false],
])('%s among 192.0.2.0/24, 10.1.2.3 and fd00::/16: %s', (address, expected) => {
  expect(allowed(['192.0.2.0/24', '10.1.2.3', 'fd00::/16'], address)).toBe(expected);
});

test('0.0.0.0/0 is all of IPv4, and nothing of IPv6', () => {
  expect(allowed(['0.0.0.0/0'], '203.0.113.9')).toBe(true);
  expect(allowed(['0.0.0.0/0'], '2001:db8::1')).toBe(false);
});

test.each([
  [['nonsense']],
  [['10.0.0.0/33']],
  [['10.0.0.0/8/8']],
  [['10.0.0.0/']],
  [['/8']],
  [['fd00::/129']],
])('what is not a network lets nobody in: %j', (networks) => {
  expect(allowed(networks, '10.0.0.1')).toBe(false);
  expect(allowed(networks, 'fd00::1')).toBe(false);
});

test('a client whose address is not known is not allowed where that matters', () => {
  expect(allowed(['0.0.0.0/0', '::/0'], '')).toBe(false);
});
