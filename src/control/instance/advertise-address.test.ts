import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advertisedAddress } from './advertise-address.ts';

const ROUTE = { kind: 'address', address: '192.0.2.3', interface: 'eth0' } as const;
const NO_ROUTE = { kind: 'none', reason: 'there is no default route' } as const;
const withFlag = (flag: string) => advertisedAddress({ flag, podIp: '192.0.2.2', defaultRoute: ROUTE });

describe('the advertised address', () => {
  test.each([
    ['is the one that was given', '192.0.2.1', '192.0.2.2', ROUTE, '192.0.2.1', '--advertise-address'],
    ["is the pod's, where none was", null, '192.0.2.2', ROUTE, '192.0.2.2', 'POD_IP'],
    ['is that of the default route else', null, null, ROUTE, '192.0.2.3', 'the default route through eth0'],
  ])('%s', (_title, flag, podIp, defaultRoute, address, from) => {
    expect(advertisedAddress({ flag, podIp, defaultRoute })).toEqual({
      kind: 'address',
      address,
      family: 'IPv4',
      from,
    });
  });

  test('may be IPv6, in canonical form', () => {
    expect(withFlag('2001:DB8:0:0::0001')).toMatchObject({ address: '2001:db8::1', family: 'IPv6' });
  });

  test('is missing without a default route, and the reason names the options that set it', () => {
    expect(advertisedAddress({ flag: null, podIp: null, defaultRoute: NO_ROUTE })).toEqual({
      kind: 'none',
      reason: 'there is no default route; set --advertise-address or POD_IP',
    });
  });
});

describe('an address that cannot be advertised is rejected without a replacement', () => {
  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['127.8.8.8', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['0.0.0.0', 'the unspecified address'],
    ['::', 'the unspecified address'],
    ['169.254.169.254', 'a link-local address'],
    ['fe80::1', 'a link-local address'],
    ['febf::1', 'a link-local address'],
    ['224.0.0.1', 'a multicast address'],
    ['239.255.255.255', 'a multicast address'],
    ['ff02::1', 'a multicast address'],
    ['255.255.255.255', 'a reserved or broadcast address'],
    ['240.0.0.1', 'a reserved or broadcast address'],
    ['::10.0.0.1', 'a reserved or broadcast address'],
    ['::ffff:192.0.2.1', 'an IPv4 address written as IPv6'],
    ['::ffff:127.0.0.1', 'an IPv4 address written as IPv6'],
    ['fe80::1%eth0', 'no IP address'],
    ['net-1', 'no IP address'],
    ['', 'no IP address'],
  ])('%s', (text, reason) => {
    expect(withFlag(text)).toEqual({
      kind: 'none',
      reason: expect.stringContaining(`of --advertise-address is ${reason}`),
    });
    expect(advertisedAddress({ flag: null, podIp: text, defaultRoute: ROUTE })).toEqual({
      kind: 'none',
      reason: expect.stringContaining(`of POD_IP is ${reason}`),
    });
  });

  test('but private, shared and public addresses are accepted', () => {
    for (const text of [
      '10.0.0.1',
      '100.64.0.1',
      '192.168.1.1',
      '8.8.8.8',
      'fd00::1',
      '2001:4860::1',
      'fec0::1',
    ])
      expect(withFlag(text)).toMatchObject({ kind: 'address', address: text });
  });

  test('and no text makes the function throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (text) => {
        expect(['address', 'none']).toContain(withFlag(text).kind);
      }),
    );
  });
});
