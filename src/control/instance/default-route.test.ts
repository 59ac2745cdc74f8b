import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  defaultRouteAddress,
  type Interfaces,
  ipv4DefaultRoutes,
  ipv6DefaultRoutes,
} from './default-route.ts';

// Captured in a namespace with two bridges, after: ip route add default via 192.0.2.1 metric 100; ip route add default via
// 198.51.100.1 dev br1 metric 50; ip route add unreachable default metric 9999; ip route add 203.0.113.0/24 via 192.0.2.2
const ROUTE = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT                                                       
br0	00000000	010200C0	0003	0	0	100	00000000	0	0	0                                                                              
br1	00000000	016433C6	0003	0	0	50	00000000	0	0	0                                                                               
*	00000000	00000000	0201	0	0	9999	00000000	0	0	0                                                                               
br0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0                                                                                
br1	006433C6	00000000	0001	0	0	0	00FFFFFF	0	0	0                                                                                
br0	007100CB	020200C0	0003	0	0	0	00FFFFFF	0	0	0                                                                                
`;
// In the same namespace: ip -6 route add default via 2001:db8::1 dev br0 metric 1024; … via fd00::1 dev br1 metric 512; … unreachable
const IPV6_ROUTE = `20010db8000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001      br0
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001      br0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 20010db8000000000000000000000001 00000400 00000001 00000000 00000003      br0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000200 00000001 00000000 00000003      br1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 00000fa0 00000001 00000000 00200200       lo
00000000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 80200001       lo
ff000000000000000000000000000000 08 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001      br0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`;

type Info = NonNullable<Interfaces[string]>[number];
const info = (cidr: string, internal = false): Info => {
  const [address = '', bits = ''] = cidr.split('/');
  const base = { address, mac: '00:00:00:00:00:00', internal, cidr };
  return address.includes(':')
    ? { ...base, family: 'IPv6', netmask: bits, scopeid: 0 }
    : { ...base, family: 'IPv4', netmask: bits === '32' ? '255.255.255.255' : '255.255.255.0' };
};

describe('default routes', () => {
  test('of IPv4 are sorted by metric, without unreachable routes', () => {
    expect(ipv4DefaultRoutes(ROUTE)).toEqual([
      { interface: 'br1', metric: 50 },
      { interface: 'br0', metric: 100 },
    ]);
  });

  test('of IPv6 are sorted by metric, which is hexadecimal', () => {
    expect(ipv6DefaultRoutes(IPV6_ROUTE)).toEqual([
      { interface: 'br1', metric: 512 },
      { interface: 'br0', metric: 1024 },
    ]);
  });

  test.each([
    ['nothing at all', ''],
    ['the heading alone', ROUTE.split('\n')[0] as string],
    [
      'half of a default route, as VPNs create it',
      'tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0\n',
    ],
    ['a route that is down', 'eth0\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n'],
    ['a truncated line', 'eth0\t00000000\t010200C0\t0003\n'],
  ])('are not found in %s', (_title, text) => {
    expect(ipv4DefaultRoutes(text)).toEqual([]);
    expect(ipv6DefaultRoutes(text)).toEqual([]);
  });

  test('never make the parser throw, for any text', () => {
    const word = fc.oneof(
      fc.constantFrom('00000000', '0003', '00', '0'.repeat(32), 'eth0', '\t', '\n', '  '),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const text = words.join(' ');
        for (const { metric } of [...ipv4DefaultRoutes(text), ...ipv6DefaultRoutes(text)])
          expect(metric).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('the address of the default route', () => {
  const routes = [{ interface: 'eth0', metric: 0 }];
  const on = (...cidrs: string[]): Interfaces => ({ eth0: cidrs.map((cidr) => info(cidr)) });

  test.each<[title: string, interfaces: Interfaces, address: string]>([
    ['is an address of its interface', on('192.0.2.7/24'), '192.0.2.7'],
    ['is the first that was assigned', on('192.0.2.7/24', '192.0.2.6/24'), '192.0.2.7'],
    ['is not a virtual one that may move to another host', on('192.0.2.9/32', '192.0.2.7/24'), '192.0.2.7'],
    ['is a /32 if there is no other', on('192.0.2.9/32'), '192.0.2.9'],
    ['is IPv4 before IPv6', on('2001:db8::7/64', '192.0.2.7/24'), '192.0.2.7'],
    ['is IPv6 if there is no IPv4 address', on('2001:db8::7/64'), '2001:db8::7'],
    ['is global rather than private to the site', on('fd00::7/64', '2001:db8::7/64'), '2001:db8::7'],
    ['is private to the site if there is no other', on('fe80::7/64', 'fd00::7/64'), 'fd00::7'],
    [
      'is the lower of two IPv6 addresses, in any order',
      on('2001:db8::9/64', '2001:db8::7/64'),
      '2001:db8::7',
    ],
    ['is never link-local', on('169.254.0.7/16', '192.0.2.7/24'), '192.0.2.7'],
  ])('%s', (_title, interfaces, address) => {
    expect(defaultRouteAddress(routes, routes, interfaces)).toEqual({
      kind: 'address',
      address,
      interface: 'eth0',
    });
  });

  test('comes from the next route if the interface of the best route has no address', () => {
    const interfaces = { br1: [info('fe80::1/64')], br0: [info('192.0.2.7/24')] };
    expect(defaultRouteAddress(ipv4DefaultRoutes(ROUTE), [], interfaces)).toEqual({
      kind: 'address',
      address: '192.0.2.7',
      interface: 'br0',
    });
  });

  test.each<[title: string, known: typeof routes, interfaces: Interfaces, reason: string]>([
    ['there is no route', [], on('192.0.2.7/24'), 'there is no default route'],
    ['its interface is gone', routes, {}, 'through eth0, which has no address that other hosts can reach'],
    [
      'its interface has only link-local ones',
      routes,
      on('fe80::7/64'),
      'through eth0, which has no address',
    ],
    ['its interface is a loopback', routes, { eth0: [info('192.0.2.7/24', true)] }, 'which has no address'],
  ])('is none when %s', (_title, known, interfaces, reason) => {
    expect(defaultRouteAddress(known, known, interfaces)).toEqual({
      kind: 'none',
      reason: expect.stringContaining(reason),
    });
  });
});
