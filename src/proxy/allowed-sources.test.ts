import { expect, test } from 'vitest';
import { AllowedSources } from './allowed-sources.ts';

const allowed = (allowedCidrs: readonly string[], address: string) =>
  new AllowedSources().allows({ listener: 'ns/ssh', allowedCidrs }, address);

test('an empty list of networks allows every client', () => {
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

test('0.0.0.0/0 allows all of IPv4 and nothing of IPv6', () => {
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
])('an invalid network allows no client: %j', (networks) => {
  expect(allowed(networks, '10.0.0.1')).toBe(false);
  expect(allowed(networks, 'fd00::1')).toBe(false);
});

test('a client with an unknown address is rejected if a list of networks is set', () => {
  expect(allowed(['0.0.0.0/0', '::/0'], '')).toBe(false);
});
