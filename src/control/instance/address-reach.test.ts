import { describe, expect, test } from 'vitest';
import { isReachableAt, unreachableAdvice } from './address-reach.ts';

describe('a client of the advertised address reaches this instance', () => {
  test.each<[title: string, listen: string | undefined, advertised: string, heard: boolean]>([
    ['if it listens on all addresses', undefined, '192.0.2.10', true],
    ['if it listens on all addresses, by IPv6', undefined, '2001:db8::10', true],
    ['at ::, which includes IPv4', '::', '192.0.2.10', true],
    ['at :: in full', '0:0:0:0:0:0:0:0', '2001:db8::10', true],
    ['at all IPv4 addresses', '0.0.0.0', '192.0.2.10', true],
    ['but not by IPv6 if it listens on all IPv4 addresses', '0.0.0.0', '2001:db8::10', false],
    ['at the same address', '192.0.2.10', '192.0.2.10', true],
    ['at the same address in another notation', '2001:DB8:0::0010', '2001:db8::10', true],
    ['at the same address, written as IPv6', '::ffff:192.0.2.10', '192.0.2.10', true],
    ['but not at another address', '192.0.2.11', '192.0.2.10', false],
    ['but not at another IPv6 address', '2001:db8::11', '2001:db8::10', false],
    ['but not at an address of the other family', '2001:db8::10', '192.0.2.10', false],
    ['but not on loopback', '127.0.0.1', '192.0.2.10', false],
  ])('%s', (_title, listen, advertised, heard) => {
    expect(isReachableAt(listen, advertised)).toBe(heard);
  });
});

describe('the message about an unreachable address', () => {
  test('names both addresses, the source of the advertised one, and both fixes', () => {
    expect(unreachableAdvice('192.0.2.11', '192.0.2.10', 'POD_IP')).toEqual({
      found: 'clients connect to 192.0.2.10 (from POD_IP), but this instance listens at 192.0.2.11 only',
      fix: 'Use --listen with a port only, which means all addresses, or set --advertise-address 192.0.2.11 if every node reaches it.',
    });
  });

  test('does not propose to advertise loopback', () => {
    expect(unreachableAdvice('127.0.0.1', '192.0.2.10', 'POD_IP').fix).not.toContain('advertise');
  });

  test('names a missing address family', () => {
    expect(unreachableAdvice('0.0.0.0', '2001:db8::10', 'POD_IP').found).toContain(
      'listens at IPv4 addresses only',
    );
  });
});
