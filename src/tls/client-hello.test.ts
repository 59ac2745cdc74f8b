import { describe, expect, test } from 'vitest';
import {
  bytesOf,
  extension,
  helloMessage,
  hostNameExtension,
  longHello,
  message,
  nameEntry,
  oneByteRecords,
  record,
  records,
  serverNameExtension,
  uint16,
} from '../../test/tls/hello-builder.ts';
import {
  type HelloResult,
  type InvalidHelloReason,
  MAX_HELLO_BYTES,
  newHelloProgress,
  parseClientHello,
} from './client-hello.ts';

const NONE = new Uint8Array(0);
const DEMO: HelloResult = { kind: 'server-name', serverName: 'demo.example' };
const NO_NAME: HelloResult = { kind: 'no-server-name' };

/** The number of bytes after which the answer is no longer `incomplete`. */
function decidedAt(bytes: Uint8Array): number {
  for (let length = 0; length < bytes.length; length += 1) {
    if (parseClientHello(bytes.subarray(0, length)).kind !== 'incomplete') return length;
  }
  return bytes.length;
}

describe('a well-formed hello', () => {
  test.each<[title: string, hello: Uint8Array, answer: HelloResult]>([
    ['in one record is read', record(helloMessage()), DEMO],
    ['of TLS 1.0 is read', record(helloMessage({ version: 0x0301 })), DEMO],
    ['of a future version is read', record(helloMessage({ version: 0x0405 })), DEMO],
    ['in a record of version 3.0 is read', record(helloMessage(), 22, 0x0300), DEMO],
    ['in a record of version 3.255 is read', record(helloMessage(), 22, 0x03ff), DEMO],
    ['in one-byte records is read', oneByteRecords(helloMessage()), DEMO],
    ['whose name straddles two records is read', records(helloMessage(), [helloMessage().length - 5]), DEMO],
    ['whose first record ends in the header is read', records(helloMessage(), [2]), DEMO],
    ['without any extensions names nothing', record(helloMessage({ extensions: null })), NO_NAME],
    ['with an empty extension block names nothing', record(helloMessage({ extensions: [] })), NO_NAME],
    [
      'without server_name names nothing',
      record(helloMessage({ extensions: [extension(23, NONE)] })),
      NO_NAME,
    ],
    ['without a session id is read', record(helloMessage({ sessionId: NONE })), DEMO],
    [
      'with null among the compression methods is read',
      record(helloMessage({ compression: Uint8Array.of(1, 0) })),
      DEMO,
    ],
    [
      'with 255 compression methods over two records is read',
      records(helloMessage({ compression: new Uint8Array(255) }), [100]),
      DEMO,
    ],
    [
      'with GREASE in suites and extensions is read',
      record(
        helloMessage({
          cipherSuites: Uint8Array.of(0xda, 0xda, 0x13, 0x01),
          extensions: [
            extension(0x3a3a, NONE),
            hostNameExtension('demo.example'),
            extension(0xfafa, Uint8Array.of(0)),
          ],
        }),
      ),
      DEMO,
    ],
    [
      'with an encrypted inner hello gives the outer name',
      record(
        helloMessage({
          extensions: [extension(0xfe0d, new Uint8Array(250).fill(0xec)), hostNameExtension('demo.example')],
        }),
      ),
      DEMO,
    ],
    [
      'whose name lies past byte 1460 is read',
      record(
        helloMessage({
          extensions: [extension(51, new Uint8Array(1700)), hostNameExtension('demo.example')],
        }),
      ),
      DEMO,
    ],
    [
      'whose name has a type unknown to us names nothing',
      record(helloMessage({ extensions: [serverNameExtension(nameEntry('demo.example', 7))] })),
      NO_NAME,
    ],
    [
      'whose name comes after names of unknown types is read',
      record(
        helloMessage({
          extensions: [serverNameExtension(nameEntry('a', 9), nameEntry('', 9), nameEntry('demo.example'))],
        }),
      ),
      DEMO,
    ],
    [
      'with another extension twice is read, because the backend rejects it',
      record(
        helloMessage({
          extensions: [extension(43, NONE), extension(43, NONE), hostNameExtension('demo.example')],
        }),
      ),
      DEMO,
    ],
    [
      'gives its name in lower case and without the trailing dot',
      record(helloMessage({ extensions: [hostNameExtension('Demo.EXAMPLE.')] })),
      DEMO,
    ],
    ['of 65 536 bytes is read', records(longHello(4 + 65_536)), DEMO],
    ['of 65 536 bytes in one-byte records is read', oneByteRecords(longHello(4 + 65_536)), DEMO],
    ['is read if other bytes follow in its record', record(bytesOf(helloMessage(), [11, 0, 0])), DEMO],
    [
      'is read if other bytes follow after its record',
      bytesOf(record(helloMessage()), [23, 3, 3, 0xff, 0xff]),
      DEMO,
    ],
  ])('%s', (_title, hello, answer) => {
    expect(parseClientHello(hello)).toEqual(answer);
  });

  test('is read in any two records that arrive in any two segments', () => {
    const whole = helloMessage({ compression: Uint8Array.of(1, 0, 2) });
    for (let size = 1; size < whole.length; size += 1) {
      const hello = records(whole, [size]);
      for (let length = 0; length < hello.length; length += 1) {
        const progress = newHelloProgress();
        parseClientHello(hello.subarray(0, length), progress);
        const answer = parseClientHello(hello, progress);
        if (answer.kind !== 'server-name' || answer.serverName !== 'demo.example') {
          expect.fail(`${JSON.stringify(answer)} for a record of ${size} and a segment of ${length}`);
        }
      }
    }
  });

  test('of maximum length has exactly MAX_HELLO_BYTES bytes', () => {
    expect(oneByteRecords(longHello(4 + 65_536))).toHaveLength(MAX_HELLO_BYTES);
  });
});

describe('the parser rejects', () => {
  const broken = (extensions: readonly Uint8Array[]) => record(helloMessage({ extensions }));
  const named = (name: string | Uint8Array) => broken([hostNameExtension(name)]);
  const rawList = (...bytes: number[]) => broken([extension(0, Uint8Array.from(bytes))]);
  /** Start offsets of the fields of a hello in one record, with the builder's session id. */
  const FIXED = 5 + 4 + 2 + 32;
  const EXTENSIONS = FIXED + 33 + 2 + 4 + 2;

  test.each<[title: string, hello: Uint8Array, reason: InvalidHelloReason, decided: number]>([
    ['HTTP', bytesOf('GET / HTTP/1.1\r\n'), 'plain-http', 1],
    ['SSH', bytesOf('SSH-2.0-OpenSSH_9.2\r\n'), 'ssh', 1],
    ['SSLv2', Uint8Array.of(0x80, 0x2e, 1, 0, 2), 'sslv2', 1],
    ['a PROXY line', bytesOf('PROXY UNKNOWN\r\n'), 'proxy-protocol', 3],
    ['a PROXY version 2 header', bytesOf('\r\n\r\n\0\r\nQUIT\n'), 'proxy-protocol', 1],
    ['another record type', record(helloMessage(), 23), 'not-handshake', 1],
    ['another major version', record(helloMessage(), 22, 0x0203), 'bad-record-version', 2],
    ['an empty record', bytesOf(record(NONE), record(helloMessage())), 'bad-record-length', 5],
    ['a record of 2^14 + 1 bytes', bytesOf([22, 3, 1], uint16(16_385)), 'bad-record-length', 5],
    [
      'an empty record in between',
      bytesOf(record(helloMessage().subarray(0, 50)), record(NONE)),
      'bad-record-length',
      60,
    ],
    [
      'an alert in between',
      bytesOf(record(helloMessage().subarray(0, 50)), record(Uint8Array.of(1, 0), 21)),
      'interleaved-record',
      56,
    ],
    [
      'a later record of another major version',
      bytesOf(record(helloMessage().subarray(0, 50)), record(helloMessage().subarray(50), 22, 0x0401)),
      'bad-record-version',
      57,
    ],
    ['a ServerHello', record(message(2, new Uint8Array(60))), 'not-client-hello', 6],
    ['a body of 65 537 bytes', record(Uint8Array.of(1, 1, 0, 1)), 'message-too-long', 9],
    ['a body of 40 bytes', record(message(1, new Uint8Array(40))), 'message-too-short', 9],
    ['SSL 3.0', record(helloMessage({ version: 0x0300 })), 'bad-client-version', 11],
    ['a version below it', record(helloMessage({ version: 0x0200 })), 'bad-client-version', 11],
    [
      'a session id of 33 bytes',
      record(helloMessage({ sessionId: new Uint8Array(33) })),
      'bad-session-id',
      FIXED + 1,
    ],
    [
      'a session id past the end',
      record(message(1, bytesOf(uint16(0x0303), new Uint8Array(32), [32], new Uint8Array(6)))),
      'bad-session-id',
      FIXED + 1,
    ],
    [
      'a session id that leaves no room for cipher suites',
      record(message(1, bytesOf(uint16(0x0303), new Uint8Array(32), [6], new Uint8Array(6)))),
      'bad-cipher-suites',
      FIXED + 1,
    ],
    ['no cipher suites', record(helloMessage({ cipherSuites: NONE })), 'bad-cipher-suites', FIXED + 35],
    [
      'half a cipher suite',
      record(helloMessage({ cipherSuites: new Uint8Array(3) })),
      'bad-cipher-suites',
      FIXED + 35,
    ],
    [
      'cipher suites past the end',
      record(message(1, bytesOf(uint16(0x0303), new Uint8Array(32), [0], uint16(6), new Uint8Array(5)))),
      'bad-cipher-suites',
      FIXED + 3,
    ],
    [
      'cipher suites that leave no room for compression',
      record(message(1, bytesOf(uint16(0x0303), new Uint8Array(32), [0], uint16(4), new Uint8Array(4)))),
      'bad-compression',
      FIXED + 3,
    ],
    [
      'no compression methods',
      record(helloMessage({ compression: NONE })),
      'bad-compression',
      EXTENSIONS - 1,
    ],
    [
      'compression without null',
      record(helloMessage({ compression: Uint8Array.of(1, 2) })),
      'bad-compression',
      EXTENSIONS + 1,
    ],
    [
      'compression methods past the end',
      record(message(1, bytesOf(uint16(0x0303), new Uint8Array(32), [0], uint16(2), [19, 1, 3, 0, 0]))),
      'bad-compression',
      FIXED + 6,
    ],
    [
      'half an extensions length',
      record(message(1, bytesOf(uint16(0x0303), new Uint8Array(32), [0], uint16(2), [19, 1, 1, 0, 0]))),
      'bad-extensions',
      FIXED + 7,
    ],
    [
      'bytes after the extensions',
      record(message(1, bytesOf(helloMessage().subarray(4), [0]))),
      'bad-extensions',
      EXTENSIONS + 2,
    ],
    [
      'extensions past the end',
      record(message(1, helloMessage().subarray(4, -1))),
      'bad-extensions',
      EXTENSIONS + 2,
    ],
    ['an extension past the end', broken([bytesOf(uint16(43), uint16(1))]), 'bad-extensions', EXTENSIONS + 6],
    [
      'a server_name past the end, whatever follows',
      record(bytesOf(helloMessage({ extensions: [Uint8Array.of(0, 0, 0, 6)] }), [0, 4, 0, 0, 1, 97])),
      'bad-extensions',
      EXTENSIONS + 6,
    ],
    ['half an extension header', broken([Uint8Array.of(0, 43, 0)]), 'bad-extensions', EXTENSIONS + 2],
    [
      'a second server_name',
      broken([hostNameExtension('a'), extension(43, NONE), hostNameExtension('a')]),
      'duplicate-server-name',
      EXTENSIONS + 2 + 10 + 4 + 4,
    ],
    [
      'a second host name in the list',
      broken([serverNameExtension(nameEntry('a'), nameEntry('b'))]),
      'duplicate-server-name',
      EXTENSIONS + 2 + 6 + 4 + 3,
    ],
    [
      'a second server_name after one without a host name',
      broken([serverNameExtension(nameEntry('a', 1)), hostNameExtension('b')]),
      'duplicate-server-name',
      EXTENSIONS + 2 + 10 + 4,
    ],
    ['an empty server_name', rawList(), 'bad-server-name-list', EXTENSIONS + 6],
    [
      'an empty server_name before another extension',
      broken([extension(0, NONE), extension(43, NONE)]),
      'bad-server-name-list',
      EXTENSIONS + 6,
    ],
    [
      'half a name header before another extension',
      broken([extension(0, Uint8Array.of(0, 2, 9, 0)), extension(43, NONE)]),
      'bad-server-name-list',
      EXTENSIONS + 8,
    ],
    ['an empty name list', rawList(0, 0), 'bad-server-name-list', EXTENSIONS + 8],
    ['a name list past its end', rawList(0, 5, 0, 0, 1, 97), 'bad-server-name-list', EXTENSIONS + 8],
    ['bytes after the name list', rawList(0, 4, 0, 0, 1, 97, 0), 'bad-server-name-list', EXTENSIONS + 8],
    ['half a name header', rawList(0, 2, 0, 0), 'bad-server-name-list', EXTENSIONS + 8],
    ['a name past the end of its list', rawList(0, 4, 0, 0, 2, 97), 'bad-server-name-list', EXTENSIONS + 11],
    [
      'an unknown name past the end of its list',
      rawList(0, 4, 9, 0, 2, 97),
      'bad-server-name-list',
      EXTENSIONS + 11,
    ],
    ['an empty name', named(''), 'name-empty', EXTENSIONS + 11],
    ['a name of 255 bytes', named('x'.repeat(255)), 'name-too-long', EXTENSIONS + 11],
    ['a name of 254 bytes without a dot', named('x'.repeat(254)), 'name-too-long', EXTENSIONS + 11 + 254],
    ['a NUL in the name', named('demo\0.evil'), 'name-has-nul', EXTENSIONS + 11 + 10],
    ['a name that is not ASCII', named('b\xfccher'), 'name-not-ascii', EXTENSIONS + 11 + 6],
    ['a space in the name', named('demo cluster'), 'name-bad-character', EXTENSIONS + 11 + 12],
    ['an empty label', named('demo..example'), 'name-bad-label', EXTENSIONS + 11 + 13],
    ['an address for a name', named('192.0.2.1'), 'name-is-ip', EXTENSIONS + 11 + 9],
  ])('%s', (_title, hello, reason, decided) => {
    expect(parseClientHello(hello)).toEqual({ kind: 'invalid', reason });
    expect(decidedAt(hello)).toBe(decided);
    const progress = newHelloProgress();
    for (let length = 0; length <= hello.length; length += 1)
      parseClientHello(hello.subarray(0, length), progress);
    expect(parseClientHello(hello, progress)).toEqual({ kind: 'invalid', reason });
  });
});

describe('minBytes is', () => {
  const hello = record(helloMessage());
  const inTwo = records(helloMessage(), [60]);
  test.each<[title: string, bytes: Uint8Array, minBytes: number]>([
    ['1 before the first byte', NONE, 1],
    ['the whole record header once its version is known', hello.subarray(0, 2), 5],
    ['the message type after that', hello.subarray(0, 5), 6],
    [
      'the cipher suites, with the session id skipped, once its length is known',
      hello.subarray(0, 44),
      44 + 32 + 2,
    ],
    ['the end of the name once its length is known', hello.subarray(0, hello.length - 12), hello.length],
    ['the first byte of the next record if the field begins there', inTwo.subarray(0, 50), 66],
    [
      'the end of a skipped extension body if it is the last one',
      record(helloMessage({ extensions: [extension(21, new Uint8Array(900))] })).subarray(0, 90),
      5 + helloMessage({ extensions: [extension(21, new Uint8Array(900))] }).length,
    ],
  ])('%s', (_title, bytes, minBytes) => {
    expect(parseClientHello(bytes)).toEqual({ kind: 'incomplete', minBytes });
  });
});

describe('progress', () => {
  test('keeps the answer when more bytes follow', () => {
    const hello = record(helloMessage());
    const progress = newHelloProgress();
    const answer = parseClientHello(hello, progress);
    expect(answer).toEqual(DEMO);
    expect(parseClientHello(hello, progress)).toBe(answer);
    expect(parseClientHello(bytesOf(hello, 'GET / HTTP/1.1'), progress)).toBe(answer);
  });

  test('keeps no reference to the bytes of the caller, which may reuse its buffer', () => {
    const hello = record(helloMessage());
    const progress = newHelloProgress();
    for (let length = 1; length <= hello.length; length += 1) {
      // A new buffer each time; the previous one is overwritten.
      const buffer = hello.slice(0, length);
      const answer = parseClientHello(buffer, progress);
      expect(answer.kind).toBe(length < hello.length ? 'incomplete' : 'server-name');
      expect(progress.records.field.length).toBe(0);
      buffer.fill(0xff);
    }
    expect(parseClientHello(hello, progress)).toEqual(DEMO);
  });

  test('copies nothing of a hello in one record, and otherwise only fields that span two records', () => {
    const whole = newHelloProgress();
    parseClientHello(record(helloMessage()), whole);
    expect(whole.records.straddling).toBeUndefined();
    const halves = newHelloProgress();
    // The second record begins within the name.
    parseClientHello(records(helloMessage(), [helloMessage().length - 5]), halves);
    const headers = 2;
    const nameBytes = 12;
    expect(halves.records.work).toBe(headers + nameBytes);
  });
});
