import { describe, expect, test } from 'vitest';
import { isHeardAt, unheard } from './listen-reach.ts';

describe('who is sent to an address finds us', () => {
  test.each<[title: string, listen: string | undefined, advertised: string, heard: boolean]>([
    ['when we listen everywhere', undefined, '192.0.2.10', true],
    ['when we listen everywhere, by IPv6', undefined, '2001:db8::10', true],
    ['at ::, which is IPv4 as well', '::', '192.0.2.10', true],
    ['at :: in full', '0:0:0:0:0:0:0:0', '2001:db8::10', true],
    ['at all IPv4 addresses', '0.0.0.0', '192.0.2.10', true],
    ['not by IPv6 at all IPv4 addresses', '0.0.0.0', '2001:db8::10', false],
    ['at that very address', '192.0.2.10', '192.0.2.10', true],
    ['at that very address, written otherwise', '2001:DB8:0::0010', '2001:db8::10', true],
    ['at that very address, written as IPv6', '::ffff:192.0.2.10', '192.0.2.10', true],
    ['not at another', '192.0.2.11', '192.0.2.10', false],
    ['not at another of IPv6', '2001:db8::11', '2001:db8::10', false],
    ['not at one of the other family', '2001:db8::10', '192.0.2.10', false],
    ['not on loopback', '127.0.0.1', '192.0.2.10', false],
  ])('%s', (_title, listen, advertised, heard) => {
    expect(isHeardAt(listen, advertised)).toBe(heard);
  });
});

describe('what is said of it', () => {
  test('names both addresses, who gave the one, and both ways out', () => {
    expect(unheard('192.0.2.11', '192.0.2.10', 'POD_IP')).toEqual({
      found: 'clients are sent to 192.0.2.10, from POD_IP, but this instance listens at 192.0.2.11 only',
      fix: 'Give --listen the port alone, which is all addresses, or set --advertise-address 192.0.2.11 if every node reaches it.',
    });
  });

  test('does not send anybody to loopback', () => {
    expect(unheard('127.0.0.1', '192.0.2.10', 'POD_IP').fix).not.toContain('advertise');
  });

  test('tells of a family that is missing', () => {
    expect(unheard('0.0.0.0', '2001:db8::10', 'POD_IP').found).toContain('listens at IPv4 addresses only');
  });
});
