import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ProxyHeaderProblem, type ProxySource, parseProxyHeader } from './proxy-protocol.ts';

function latin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';

interface Binary {
  readonly versionAndCommand?: number;
  readonly familyAndTransport?: number;
  /** In hex. */
  readonly addresses?: string;
  readonly tlvBytes?: number;
}

function v2(parts: Binary): Uint8Array {
  const addresses = Buffer.from((parts.addresses ?? '').replaceAll(/\s/g, ''), 'hex');
  const length = addresses.length + (parts.tlvBytes ?? 0);
  return new Uint8Array(
    Buffer.concat([
      latin1(SIGNATURE),
      Uint8Array.of(
        parts.versionAndCommand ?? 0x21,
        parts.familyAndTransport ?? 0x11,
        length >> 8,
        length & 0xff,
      ),
      addresses,
      Buffer.alloc(parts.tlvBytes ?? 0, 4),
    ]),
  );
}

const IPV4 = 'c0000201 c6336402 9c40 192b';
const IPV6 = `20010db8 00000000 00000000 00000001 ${'0'.repeat(32)} 9c40 192b`;
const IPV6_MAPPED = `00000000 00000000 0000ffff c0000201 ${'0'.repeat(32)} 9c40 192b`;
const TLS = '\x16\x03\x01\x02\x00\x01';

describe('a header', () => {
  test.each<[title: string, bytes: Uint8Array, source: ProxySource | undefined]>([
    [
      'of version 1 gives an IPv4 source',
      latin1('PROXY TCP4 192.0.2.1 198.51.100.2 40000 6443\r\n'),
      { address: '192.0.2.1', port: 40_000 },
    ],
    [
      'of version 1 gives an IPv6 source in canonical form',
      latin1('PROXY TCP6 2001:DB8:0:0::0:1 2001:db8::2 40000 6443\r\n'),
      { address: '2001:db8::1', port: 40_000 },
    ],
    [
      'of version 1 gives an IPv4-mapped source as IPv4',
      latin1('PROXY TCP6 ::ffff:192.0.2.1 ::1 1 65535\r\n'),
      { address: '192.0.2.1', port: 1 },
    ],
    [
      'of version 1 may have port 0',
      latin1('PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n'),
      { address: '0.0.0.0', port: 0 },
    ],
    ['of version 1 may be UNKNOWN', latin1('PROXY UNKNOWN\r\n'), undefined],
    [
      'of version 1 may have any text after UNKNOWN',
      latin1('PROXY UNKNOWN ffff::1 what ever  99\r\n'),
      undefined,
    ],
    [
      'of version 1 may have 107 bytes',
      latin1(`PROXY UNKNOWN${' ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'.repeat(2)} 65535 65535\r\n`),
      undefined,
    ],
    ['of version 2 gives an IPv4 source', v2({ addresses: IPV4 }), { address: '192.0.2.1', port: 40_000 }],
    [
      'of version 2 gives an IPv6 source',
      v2({ familyAndTransport: 0x21, addresses: IPV6 }),
      { address: '2001:db8::1', port: 40_000 },
    ],
    [
      'of version 2 gives an IPv4-mapped source as IPv4',
      v2({ familyAndTransport: 0x21, addresses: IPV6_MAPPED }),
      { address: '192.0.2.1', port: 40_000 },
    ],
    [
      'of version 2 may have TLVs',
      v2({ addresses: IPV4, tlvBytes: 300 }),
      { address: '192.0.2.1', port: 40_000 },
    ],
    [
      'of version 2 may have 4096 bytes',
      v2({ addresses: IPV4, tlvBytes: 4068 }),
      { address: '192.0.2.1', port: 40_000 },
    ],
    ['of version 2 may be LOCAL', v2({ versionAndCommand: 0x20, familyAndTransport: 0 }), undefined],
    ['of version 2 may be LOCAL with addresses', v2({ versionAndCommand: 0x20, addresses: IPV4 }), undefined],
    [
      'of version 2 may be LOCAL of any family',
      v2({ versionAndCommand: 0x20, familyAndTransport: 0xff }),
      undefined,
    ],
    ['of version 2 may have an unspecified family', v2({ familyAndTransport: 0x00, tlvBytes: 7 }), undefined],
    ['of version 2 may be for datagrams', v2({ familyAndTransport: 0x12, addresses: IPV4 }), undefined],
    ['of version 2 may be of a Unix socket', v2({ familyAndTransport: 0x31, tlvBytes: 216 }), undefined],
  ])('%s', (_title, bytes, source) => {
    const header = { kind: 'header', length: bytes.length, ...(source === undefined ? {} : { source }) };
    expect(parseProxyHeader(bytes)).toEqual(header);
    // Bytes after the header do not matter.
    expect(parseProxyHeader(new Uint8Array([...bytes, ...latin1(TLS)]))).toEqual(header);
    for (let length = 0; length < bytes.length; length += 1) {
      const result = parseProxyHeader(bytes.subarray(0, length));
      if (result.kind !== 'incomplete') expect.fail(`${result.kind} at ${length}`);
      expect(result.minBytes).toBeGreaterThan(length);
      expect(result.minBytes).toBeLessThanOrEqual(bytes.length);
    }
  });
});

describe('the header is absent before', () => {
  test.each<[title: string, opening: string, decidedAt: number]>([
    ['a TLS hello', TLS, 1],
    ['an HTTP request', 'POST / HTTP/1.1\r\n', 2],
    ['HTTP/2 in the clear', 'PRI * HTTP/2.0\r\n', 3],
    ['a lower-case line', 'proxy UNKNOWN\r\n', 1],
    ['a line without a space', 'PROXY\tUNKNOWN\r\n', 6],
    ['two line ends', '\r\n\r\n\r\n', 5],
    ['a signature with its last byte wrong', `${SIGNATURE.slice(0, -1)}x`, 12],
  ])('%s', (_title, opening, decidedAt) => {
    const bytes = latin1(opening);
    for (let length = 1; length <= bytes.length; length += 1) {
      const kind = length < decidedAt ? 'incomplete' : 'absent';
      expect(parseProxyHeader(bytes.subarray(0, length)).kind).toBe(kind);
    }
  });
});

describe('the parser rejects', () => {
  const line = (rest: string) => latin1(`PROXY ${rest}\r\n`);
  test.each<[title: string, bytes: Uint8Array, reason: ProxyHeaderProblem]>([
    ['a line without an end', latin1(`PROXY UNKNOWN ${'x'.repeat(92)}`), 'v1-too-long'],
    ['a line of 108 bytes', latin1(`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`), 'v1-too-long'],
    ['a line that ends in LF alone', latin1('PROXY UNKNOWN\n'), 'v1-malformed'],
    ['a line with CR alone', latin1('PROXY UNKNOWN\rx'), 'v1-malformed'],
    ['a NUL in the line', latin1('PROXY UNKNOWN \0\r\n'), 'v1-malformed'],
    ['a line of five fields', line('TCP4 192.0.2.1 192.0.2.2 1'), 'v1-malformed'],
    ['a line of seven fields', line('TCP4 192.0.2.1 192.0.2.2 1 2 3'), 'v1-malformed'],
    ['a line without any fields', line(''), 'v1-bad-family'],
    ['two spaces', line(' TCP4 192.0.2.1 192.0.2.2 1 2'), 'v1-bad-family'],
    ['a lower-case family', line('tcp4 192.0.2.1 192.0.2.2 1 2'), 'v1-bad-family'],
    ['UDP', line('UDP4 192.0.2.1 192.0.2.2 1 2'), 'v1-bad-family'],
    ['a name for an address', line('TCP4 localhost 192.0.2.2 1 2'), 'v1-bad-address'],
    ['an IPv6 address for IPv4', line('TCP4 ::1 192.0.2.2 1 2'), 'v1-bad-address'],
    ['an IPv4 address for IPv6', line('TCP6 192.0.2.1 ::1 1 2'), 'v1-bad-address'],
    ['a bad destination', line('TCP4 192.0.2.1 192.0.2.256 1 2'), 'v1-bad-address'],
    ['an IPv4 address with a leading zero', line('TCP4 192.0.02.1 192.0.2.2 1 2'), 'v1-bad-address'],
    ['an IPv6 address with :: twice', line('TCP6 1::2::3 ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address of nine groups', line('TCP6 1:2:3:4:5:6:7:8:9 ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address whose :: stands for nothing', line('TCP6 1:2:3:4::5:6:7:8 ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address of seven groups', line('TCP6 1:2:3:4:5:6:7 ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address with a zone', line('TCP6 fe80::1%eth0 ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address with five digits in a group', line('TCP6 12345::1 ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address that ends in a colon', line('TCP6 1:2:3:4:5:6:7: ::1 1 2'), 'v1-bad-address'],
    ['an IPv6 address with IPv4 in the middle', line('TCP6 1.2.3.4::1 ::1 1 2'), 'v1-bad-address'],
    ['a port over 65535', line('TCP4 192.0.2.1 192.0.2.2 65536 2'), 'v1-bad-port'],
    ['a port with a leading zero', line('TCP4 192.0.2.1 192.0.2.2 01 2'), 'v1-bad-port'],
    ['a port with a sign', line('TCP4 192.0.2.1 192.0.2.2 +1 2'), 'v1-bad-port'],
    ['a bad destination port', line('TCP4 192.0.2.1 192.0.2.2 1 x'), 'v1-bad-port'],
    ['no port', line('TCP4 192.0.2.1 192.0.2.2  2'), 'v1-bad-port'],
    ['version 1 after the signature', v2({ versionAndCommand: 0x11 }), 'v2-bad-version'],
    ['version 3 after the signature', v2({ versionAndCommand: 0x31 }), 'v2-bad-version'],
    ['an unknown command', v2({ versionAndCommand: 0x22 }), 'v2-bad-command'],
    ['a reserved family', v2({ familyAndTransport: 0x41, tlvBytes: 300 }), 'v2-bad-family'],
    ['a reserved transport', v2({ familyAndTransport: 0x13, tlvBytes: 300 }), 'v2-bad-family'],
    ['a header too short for IPv4', v2({ tlvBytes: 11 }), 'v2-too-short'],
    ['a header too short for IPv6', v2({ familyAndTransport: 0x21, tlvBytes: 35 }), 'v2-too-short'],
    ['a header too short for a Unix socket', v2({ familyAndTransport: 0x31, tlvBytes: 215 }), 'v2-too-short'],
    ['more than 4096 bytes', v2({ addresses: IPV4, tlvBytes: 4069 }).subarray(0, 16), 'v2-too-long'],
  ])('%s', (_title, bytes, reason) => {
    expect(parseProxyHeader(bytes)).toEqual({ kind: 'invalid', reason });
  });

  test.each<[title: string, versionAndCommand: number, familyAndTransport: number, decidedAt: number]>([
    ['a bad version at its byte', 0x11, 0x11, 13],
    ['a bad family at its byte', 0x21, 0x41, 14],
  ])('%s, not at the end', (_title, versionAndCommand, familyAndTransport, decidedAt) => {
    const bytes = v2({ versionAndCommand, familyAndTransport, tlvBytes: 300 });
    expect(parseProxyHeader(bytes.subarray(0, decidedAt - 1))).toEqual({
      kind: 'incomplete',
      minBytes: decidedAt,
    });
    expect(parseProxyHeader(bytes.subarray(0, decidedAt)).kind).toBe('invalid');
  });
});

describe('an IPv6 address is written as in RFC 5952', () => {
  test.each<[groups: string, text: string]>([
    ['0:0:0:0:0:0:0:0', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['2001:DB8:0:1:0:0:0:1', '2001:db8:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['0:0:1:0:0:0:1:1', '0:0:1::1:1'],
    ['0001:0020:0300:4000:0:0:0:0', '1:20:300:4000::'],
    ['::fffe:192.0.2.1', '::fffe:c000:201'],
    ['1::', '1::'],
    ['::', '::'],
  ])('%s is %s', (groups, text) => {
    const result = parseProxyHeader(latin1(`PROXY TCP6 ${groups} ::1 1 2\r\n`));
    expect(result).toMatchObject({ kind: 'header', source: { address: text } });
  });
});

describe('arbitrary bytes', () => {
  const nearlyHeader = fc
    .tuple(
      fc.constantFrom(
        latin1('PROXY TCP4 192.0.2.1 198.51.100.2 40000 6443\r\n'),
        latin1('PROXY TCP6 2001:db8::1 ::ffff:192.0.2.1 40000 6443\r\n'),
        v2({ addresses: IPV4, tlvBytes: 20 }),
        v2({ familyAndTransport: 0x21, addresses: IPV6 }),
      ),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
    )
    .map(([header, changes]) => {
      const bytes = header.slice();
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      return bytes;
    });

  test('give no answer before minBytes, and after that an answer that more bytes never change', () => {
    fc.assert(
      fc.property(fc.oneof(nearlyHeader, fc.uint8Array({ maxLength: 150 })), (bytes) => {
        const whole = parseProxyHeader(bytes);
        let wait = 0;
        for (let length = 0; length < bytes.length; length += 1) {
          const early = parseProxyHeader(bytes.subarray(0, length));
          if (early.kind === 'incomplete') {
            wait = early.minBytes;
          } else {
            expect(length).toBeGreaterThanOrEqual(wait);
            expect(early).toEqual(whole);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
