import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockList, cidrs, duration, endpoint, formatDuration, integer, label } from './values.ts';

test.each<[text: string, ms: number]>([
  ['0ms', 0],
  ['1ms', 1],
  ['1500ms', 1500],
  ['2s', 2000],
  ['90s', 90_000],
  ['2m', 120_000],
  ['24h', 86_400_000],
])('the duration %s is %i ms', (text, ms) => {
  expect(duration(0, 86_400_000)(text)).toEqual({ value: ms });
});

test.each<[ms: number, text: string]>([
  [0, '0ms'],
  [1, '1ms'],
  [1500, '1500ms'],
  [2000, '2s'],
  [90_000, '90s'],
  [120_000, '2m'],
  [7_200_000, '2h'],
])('%i ms is written %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('a formatted duration can be read back', () => {
  fc.assert(
    fc.property(fc.nat(86_400_000), (ms) => {
      expect(duration(0, 86_400_000)(formatDuration(ms))).toEqual({ value: ms });
    }),
  );
});

test.each<[text: string, host: string | undefined, port: number]>([
  ['6443', undefined, 6443],
  [':6443', undefined, 6443],
  ['*:6443', undefined, 6443],
  ['0', undefined, 0],
  ['65535', undefined, 65_535],
  ['00080', undefined, 80],
  ['0.0.0.0:1', '0.0.0.0', 1],
  ['127.0.0.1:9580', '127.0.0.1', 9580],
  ['localhost:9580', '127.0.0.1', 9580],
  ['[::]:1', '::', 1],
  ['[fd00::1]:1', 'fd00::1', 1],
])('the endpoint %s', (text, host, port) => {
  expect(endpoint(text)).toEqual({ value: { host, port } });
});

test('whole numbers are limited to their bounds, both included', () => {
  const read = integer(3, 5);
  expect(['2', '3', '5', '6', '007'].map((text) => 'value' in read(text))).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
  expect(read('005')).toEqual({ value: 5 });
});

test('names have 63 letters at most', () => {
  expect(label('a'.repeat(63))).toEqual({ value: 'a'.repeat(63) });
  expect(label('a'.repeat(64))).toHaveProperty('wanted');
  expect(label('0')).toEqual({ value: '0' });
});

describe('a list of networks', () => {
  test.each<[networks: string, address: string, inside: boolean]>([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['0.0.0.0/0', '198.51.100.7', true],
    ['0.0.0.0/0', 'fd00::1', false],
    ['fd00::/8', 'fdff::1', true],
    ['fd00::/8', 'fe80::1', false],
    ['::1', '::1', true],
    ['::/0', '2001:db8::1', true],
    ['10.0.0.0/8, fd00::/8', 'fd00::1', true],
  ])('%s and %s: %s', (networks, address, inside) => {
    const read = cidrs(networks);
    if ('wanted' in read) expect.fail(read.wanted);
    expect(blockList(read.value).check(address, address.includes(':') ? 'ipv6' : 'ipv4')).toBe(inside);
  });

  test('every valid list of networks makes a block list without an error', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('fe80::1%lo', '1.2.3', '::', ''));
    const network = fc
      .tuple(address, fc.option(fc.nat(140)))
      .map(([text, bits]) => (bits === null ? text : `${text}/${bits}`));
    fc.assert(
      fc.property(fc.array(network), (networks) => {
        const read = cidrs(networks.join(','));
        if ('value' in read)
          expect(blockList(read.value).rules.length).toBeLessThanOrEqual(read.value.length);
        else expect(read.wanted).toContain('CIDRs');
      }),
    );
  });
});
