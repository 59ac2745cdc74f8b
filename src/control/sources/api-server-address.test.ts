import { describe, expect, test } from 'vitest';
import { addressVerdict } from './api-server-address.ts';

describe('an address of a manifest', () => {
  test.each([
    ['10.0.0.5', '10.0.0.5'],
    ['172.31.255.254', '172.31.255.254'],
    ['192.168.0.1', '192.168.0.1'],
    ['100.64.0.9', '100.64.0.9'],
    ['fd12::10', 'fd12::10'],
    ['[fd12::10]', 'fd12::10'],
    ['FD12:0:0:0::0010', 'fd12::10'],
  ])('%s is private, and written %s', (text, address) => {
    expect(addressVerdict(text)).toEqual({ kind: 'private', address });
  });

  test.each([
    '203.0.113.9',
    '172.32.0.1',
    '100.128.0.1',
    '2001:db8::1',
    '[2001:db8::1]',
    '64:ff9b::a00:5',
    '2002:a00:5::1',
  ])('%s is public', (text) => {
    expect(addressVerdict(text)).toEqual({ kind: 'public', address: text.replace(/[[\]]/g, '') });
  });

  test.each([
    ['127.0.0.1', /loopback/],
    ['127.255.0.1', /loopback/],
    ['::1', /loopback/],
    ['[::1]', /loopback/],
    ['::ffff:127.0.0.1', /loopback/],
    ['0.0.0.0', /unspecified/],
    ['0.1.2.3', /unspecified/],
    ['::', /unspecified/],
    ['169.254.169.254', /metadata service/],
    ['fe80::1', /link-local/],
    ['224.0.0.1', /multicast/],
    ['ff02::1', /multicast/],
    ['255.255.255.255', /broadcast/],
    ['240.0.0.1', /reserved/],
    ['::127.0.0.1', /reserved/],
    ['::ffff:10.0.0.5', /IPv4-mapped/],
    ['::FFFF:a00:5', /IPv4-mapped/],
    ['fd12::10%eth0', /zone/],
    ['64:ff9b::127.0.0.1', /the NAT64 form of 127\.0\.0\.1: a loopback/],
    ['64:ff9b::a9fe:a9fe', /the NAT64 form of 169\.254\.169\.254: .*metadata service/],
    ['64:ff9b:1::7f00:1', /the NAT64 form of 127\.0\.0\.1/],
    ['64:ff9b:1:a00:5:a00:500:a00', /NAT64 for local use/],
    ['2002:7f00:1::1', /the 6to4 form of 127\.0\.0\.1/],
    ['[2002:A9FE:A9FE::]', /the 6to4 form of 169\.254\.169\.254/],
    ['2001:0:a00:5::80ff:fffe', /the Teredo form of 127\.0\.0\.1/],
    ['fd00::5efe:169.254.169.254', /the ISATAP form of 169\.254\.169\.254/],
  ])('%s is refused, with the reason', (text, reason) => {
    expect(addressVerdict(text)).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });

  test.each([
    '',
    'api.example.com',
    '10.0.0',
    '010.0.0.5',
    '10.0.0.5:6443',
    ' 10.0.0.5',
    '[10.0.0.5]',
    '[]',
    'fd12::10]',
    '0x7f000001',
  ])('%j is no address', (text) => {
    expect(addressVerdict(text)).toEqual({ kind: 'not-an-address' });
  });
});
