import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advertisedAddress } from './advertise-address.ts';

const ROUTE = { kind: 'address', address: '192.0.2.3', interface: 'eth0' } as const;
const NO_ROUTE = { kind: 'none', reason: 'there is no default route' } as const;
const withFlag = (flag: string) =>
  advertisedAddress({ flag, podIp: '192.0.2.2', listenHost: '192.0.2.4', defaultRoute: ROUTE });

describe('the advertised address', () => {
  type Row = [
    title: string,
    flag: string | null,
    podIp: string | null,
    listenHost: string | undefined,
    address: string,
    from: string,
  ];
  test.each<Row>([
    ['is the configured one', '192.0.2.1', '192.0.2.2', '192.0.2.4', '192.0.2.1', '--advertise-address'],
    ["is the pod's, if none is configured", null, '192.0.2.2', '192.0.2.4', '192.0.2.2', 'POD_IP'],
    [
      'is the single address of the listener, if there is no pod',
      null,
      null,
      '192.0.2.4',
      '192.0.2.4',
      '--listen or PROXY_BIND',
    ],
    [
      'is the address of the default route otherwise',
      null,
      null,
      undefined,
      '192.0.2.3',
      'the default route through eth0',
    ],
    ...['0.0.0.0', '::', '127.0.0.1', '::1', '169.254.0.1', 'fe80::1', '::ffff:192.0.2.4'].map(
      (listenHost): Row => [
        `is the address of the default route if the listener has ${listenHost}, which no slice can contain`,
        null,
        null,
        listenHost,
        '192.0.2.3',
        'the default route through eth0',
      ],
    ),
  ])('%s', (_title, flag, podIp, listenHost, address, from) => {
    expect(advertisedAddress({ flag, podIp, listenHost, defaultRoute: ROUTE })).toEqual({
      kind: 'address',
      address,
      family: 'IPv4',
      from,
    });
  });

  test('is the IPv6 address of the listener, in canonical form', () => {
    const choices = { flag: null, podIp: null, listenHost: '2001:DB8:0::0010', defaultRoute: ROUTE };
    expect(advertisedAddress(choices)).toMatchObject({ address: '2001:db8::10', family: 'IPv6' });
  });

  test('needs no default route if the listener has one address', () => {
    const choices = { flag: null, podIp: null, listenHost: '192.0.2.4', defaultRoute: NO_ROUTE };
    expect(advertisedAddress(choices)).toMatchObject({ kind: 'address', address: '192.0.2.4' });
  });

  test('may be IPv6, in canonical form', () => {
    expect(withFlag('2001:DB8:0:0::0001')).toMatchObject({ address: '2001:db8::1', family: 'IPv6' });
  });

  test('is unknown without a default route, and the reason names the options that set it', () => {
    expect(
      advertisedAddress({ flag: null, podIp: null, listenHost: undefined, defaultRoute: NO_ROUTE }),
    ).toEqual({
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
    ['fe80::1%eth0', 'not an IP address'],
    ['net-1', 'not an IP address'],
    ['', 'not an IP address'],
  ])('%s', (text, reason) => {
    expect(withFlag(text)).toEqual({
      kind: 'none',
      reason: expect.stringContaining(`of --advertise-address is ${reason}`),
    });
    expect(
      advertisedAddress({ flag: null, podIp: text, listenHost: '192.0.2.4', defaultRoute: ROUTE }),
    ).toEqual({
      kind: 'none',
      reason: expect.stringContaining(`of POD_IP is ${reason}`),
    });
  });

  test('accepts private, shared and public addresses instead', () => {
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

  test('for any text, without throwing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (text) => {
        expect(['address', 'none']).toContain(withFlag(text).kind);
      }),
    );
  });
});
