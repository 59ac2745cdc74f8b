import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressVerdict } from './api-server-address.ts';
import { embeddedIpv4s } from './embedded-ipv4.ts';

test.each<[string, string, string[]]>([
  ['the well-known prefix of NAT64', '64:ff9b::a9fe:a9fe', ['169.254.169.254']],
  ['the well-known prefix of NAT64, with dots', '64:ff9b::169.254.169.254', ['169.254.169.254']],
  ['NAT64 for local use', '64:ff9b:1:102:3:405:607:809', ['6.7.8.9']],
  ['6to4', '2002:7f00:1::', ['127.0.0.1']],
  ['6to4 with all groups written', '2002:a00:5:1:2:3:4:5', ['10.0.0.5']],
  ['Teredo, the client before the server', '2001::a00:5:0:0:80ff:fffe', ['127.0.0.1', '10.0.0.5']],
  ['ISATAP', 'fd00::5efe:7f00:1', ['127.0.0.1']],
  ['ISATAP with the universal bit', 'fd00::200:5efe:10.0.0.5', ['10.0.0.5']],
  ['no embedding', 'fd00::7f00:1', []],
  ['a neighbour of the NAT64 prefix', '64:ff9b:0:0:0:1:7f00:1', []],
  ['a neighbour of Teredo', '2001:1::80ff:fffe', []],
])('%s: %s carries %j', (_title, address, expected) => {
  expect(embeddedIpv4s(address).map((each) => each.address)).toEqual(expected);
});

const byte = fc.integer({ min: 0, max: 255 });
const hex = (...bytes: readonly number[]): string => {
  const text = Buffer.from(bytes).toString('hex');
  return (text.match(/.{4}/g) ?? []).join(':');
};
/** Every embedding, with arbitrary values in its unused bytes. */
const EMBEDDINGS: Readonly<Record<string, (ip: readonly number[], any: readonly number[]) => string>> = {
  mapped: (ip) => `::ffff:${ip.join('.')}`,
  compatible: (ip) => `::${ip.join('.')}`,
  translated: (ip) => `::ffff:0:${ip.join('.')}`,
  nat64: (ip) => `64:ff9b::${ip.join('.')}`,
  'local nat64 /48': ([a, b, c, d], [x = 0, ...any]) =>
    hex(0, 0x64, 0xff, 0x9b, 0, 1, a!, b!, x, c!, d!, ...any.slice(0, 5)),
  'local nat64 /56': ([a, b, c, d], [x = 0, y = 0, ...any]) =>
    hex(0, 0x64, 0xff, 0x9b, 0, 1, x, a!, y, b!, c!, d!, ...any.slice(0, 4)),
  'local nat64 /64': (ip, any) =>
    hex(0, 0x64, 0xff, 0x9b, 0, 1, ...any.slice(0, 3), ...ip, ...any.slice(3, 6)),
  'local nat64 /96': (ip, any) => hex(0, 0x64, 0xff, 0x9b, 0, 1, ...any.slice(0, 6), ...ip),
  '6to4': (ip, any) => hex(0x20, 0x02, ...ip, ...any.slice(0, 10)),
  'teredo client': (ip, any) => hex(0x20, 0x01, 0, 0, ...any.slice(0, 8), ...ip.map((each) => each ^ 0xff)),
  'teredo server': (ip, any) => hex(0x20, 0x01, 0, 0, ...ip, ...any.slice(0, 8)),
  isatap: (ip, any) => hex(...any.slice(0, 8), 0, 0, 0x5e, 0xfe, ...ip),
  'isatap, universal': (ip, any) => hex(...any.slice(0, 8), 2, 0, 0x5e, 0xfe, ...ip),
};
const REFUSED_FIRST_BYTES = [0, 127, ...Array.from({ length: 32 }, (_, i) => 224 + i)];
const refused = fc.oneof(
  fc.tuple(fc.constantFrom(...REFUSED_FIRST_BYTES), byte, byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
);

test.each(Object.entries(EMBEDDINGS))('a refused IPv4 address stays refused as %s', (_title, embed) => {
  fc.assert(
    fc.property(refused, fc.array(byte, { minLength: 10, maxLength: 10 }), (ip, any) => {
      expect(addressVerdict(ip.join('.')).kind).toBe('refused');
      expect(addressVerdict(embed(ip, any))).toMatchObject({ kind: 'refused' });
      expect(addressVerdict(`[${embed(ip, any).toUpperCase()}]`)).toMatchObject({ kind: 'refused' });
    }),
  );
});

test('every IPv6 address can be parsed', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      for (const { address: found } of embeddedIpv4s(address))
        expect(found).toMatch(/^(\d{1,3}\.){3}\d{1,3}$/);
    }),
  );
});
