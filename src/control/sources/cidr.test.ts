import { expect, test } from 'vitest';
import { canonicalCidr } from './additional-listener.ts';

test.each([
  ['192.0.2.0/24', '192.0.2.0/24'],
  ['192.0.2.7/24', '192.0.2.7/24'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8:0::/32', '2001:db8::/32'],
  ['::/0', '::/0'],
  ['10.0.0.0/33', null],
  ['fd00::/129', null],
  ['10.0.0.0', null],
  ['10.0.0/8', null],
  ['10.0.0.0/08', null],
  ['::ffff:10.0.0.0/104', null],
  ['fe80::1%eth0/64', null],
  ['everywhere', null],
  ['', null],
])('%s is the range %s', (text, wanted) => expect(canonicalCidr(text)).toBe(wanted));
