// The addon's reader of plain hellos (native/engine/plain_hello.h) against the parser, which is the reference: both must give the same
// result for any bytes. `npm run test:sanitize` runs the same bytes with ASan and UBSan.
//
// | the reader says | the parser must say, of the same bytes                          |
// | --------------- | ---------------------------------------------------------------- |
// | `name n`        | `server-name` n; and of all but the last byte, `incomplete`        |
// | `incomplete`    | `incomplete`                                                     |
// | `no`            | anything: the engine asks JavaScript                             |
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseClientHello } from '../../src/tls/client-hello.ts';
import { CAPTURES } from '../captures/captures.ts';
import { buildProgram, sanitizerOptions, withoutPreload } from '../support/native-program.ts';
import {
  bytesOf,
  extension,
  helloMessage,
  hostNameExtension,
  message,
  messageIn,
  nameEntry,
  record,
  records,
  serverNameExtension,
} from '../tls/hello-builder.ts';
import { mutatedHellos } from '../tls/mutated-hellos.ts';
import { sanitized } from './addon-process.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-plain-'));
const program = join(directory, 'plain_hellos');
/** A generous bound for a busy machine. */
const COMPILE_MS = 600_000;
beforeAll(async () => {
  const sources = ['native/test/plain_hellos.cc', 'native/engine/plain_hello.cc'];
  await buildProgram(sanitized ? 'asan' : 'plain', program, ...sources);
}, COMPILE_MS);
afterAll(() => rmSync(directory, { recursive: true }));

/** The reader's result for each hello. */
function readings(hellos: readonly Uint8Array[]): string[] {
  const input = hellos.flatMap((hello) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(hello.length);
    return [length, hello];
  });
  const { stdout, stderr, status } = spawnSync(program, {
    input: Buffer.concat(input),
    encoding: 'latin1',
    env: { ...withoutPreload(), ...sanitizerOptions },
    maxBuffer: 1 << 28,
    timeout: 600_000,
  });
  expect([status, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n').slice(0, -1);
  expect(lines).toHaveLength(hellos.length);
  return lines;
}

/** Why the two results disagree; null when they agree. */
function disagreement(hello: Uint8Array, reading: string): string | null {
  if (reading === 'no') return null;
  const judged = parseClientHello(hello);
  const text = judged.kind === 'server-name' ? `name ${judged.serverName}` : judged.kind;
  if (text !== reading)
    return `${reading}, but ${JSON.stringify(judged)}: ${Buffer.from(hello).toString('hex')}`;
  if (reading === 'incomplete') return null;
  // The reader uses no byte that the parser does not need.
  const shorter = parseClientHello(hello.subarray(0, -1));
  return shorter.kind === 'incomplete' ? null : `${reading}, and without its last byte too`;
}

/** Counts the reader's results, after a check that none of them is wrong. */
function compared(hellos: readonly Uint8Array[]): { names: number; incomplete: number } {
  const lines = readings(hellos);
  const wrong = lines.flatMap((line, index) => disagreement(hellos[index]!, line) ?? []);
  expect(wrong.slice(0, 3)).toEqual([]);
  return {
    names: lines.filter((line) => line.startsWith('name ')).length,
    incomplete: lines.filter((line) => line === 'incomplete').length,
  };
}

const NAME = 'demo-cluster.magnum-system';
const plain = (name: string | Uint8Array = NAME) => helloMessage({ extensions: [hostNameExtension(name)] });

describe('of captured hellos', () => {
  const ODD = ['openssl-3.0-no-server-name', 'openssl-3.0-four-records'];

  test('the reader finds all plain except the two unusual ones', () => {
    const lines = readings(CAPTURES.map(({ bytes }) => bytes));
    const said = Object.fromEntries(CAPTURES.map(({ name }, index) => [name, lines[index]]));
    const expected = CAPTURES.map(({ name }) => [name, ODD.includes(name) ? 'no' : `name ${NAME}`]);
    expect(said).toEqual(Object.fromEntries(expected));
    expect(CAPTURES.length - ODD.length).toBe(15);
  });

  test('every prefix is incomplete, and with one extra byte no hello is plain', () => {
    for (const { name, bytes } of CAPTURES.filter((each) => !ODD.includes(each.name))) {
      const prefixes = Array.from({ length: bytes.length - 1 }, (_, index) => bytes.subarray(0, index + 1));
      expect(new Set(readings(prefixes)), name).toEqual(new Set(['incomplete']));
      expect(compared(prefixes).incomplete).toBe(prefixes.length);
      expect(readings([bytesOf(bytes, [0])])).toEqual(['no']);
    }
  });

  test('a change of any byte never makes reader and parser disagree', () => {
    for (const change of [1, 0x80, 0xff]) {
      const changed = CAPTURES.flatMap(({ bytes }) =>
        Array.from(bytes.subarray(0, 700), (value, index) => {
          const copy = bytes.slice();
          copy[index] = value ^ change;
          return copy;
        }),
      );
      expect(compared(changed).names).toBeGreaterThan(1000);
    }
  });
});

test('of thousands of nearly valid hellos, whole and cut short, the reader never contradicts the parser', () => {
  const hellos = mutatedHellos(sanitized ? 20_000 : 60_000, 0x0a_cc_e1);
  expect(compared(hellos).names).toBeGreaterThan(2000);
  const cut = hellos.map((hello, index) => hello.subarray(0, (index * 7919) % (hello.length + 1)));
  expect(compared(cut).incomplete).toBeGreaterThan(5000);
});

describe('of random hellos', () => {
  const body = (maxLength: number) => fc.uint8Array({ maxLength });
  const mostly = (usual: number, ...odd: number[]) =>
    fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constantFrom(...odd));
  const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
  const name = fc.oneof(
    { weight: 4, arbitrary: fc.array(label, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('.')) },
    fc.stringMatching(/^[a-zA-Z0-9._-]{0,70}$/),
    fc.stringMatching(/^[0-9.]{1,12}$/),
    fc.uint8Array({ maxLength: 260 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  const entry = fc
    .tuple(mostly(0, 1), name)
    .map(([type, text]) => nameEntry(Buffer.from(text, 'latin1'), type));
  const anyExtension = fc.oneof(
    fc.tuple(fc.integer({ min: 1, max: 0xffff }), body(60)).map(([type, bytes]) => extension(type, bytes)),
    fc.array(entry, { minLength: 1, maxLength: 2 }).map((entries) => serverNameExtension(...entries)),
    entry.map((each) => serverNameExtension(each)),
    body(12).map((bytes) => extension(0, bytes)),
  );
  /** One name among other extensions. */
  const other = fc
    .tuple(fc.integer({ min: 1, max: 0xffff }), body(60))
    .map(([type, bytes]) => extension(type, bytes));
  const named = fc
    .tuple(fc.array(other, { maxLength: 3 }), name, fc.array(other, { maxLength: 3 }))
    .map(([before, text, after]) => [...before, hostNameExtension(Buffer.from(text, 'latin1')), ...after]);
  const hello = fc
    .record({
      version: mostly(0x0303, 0x0301, 0x0300, 0x0304, 0x0203),
      sessionId: fc.oneof({ weight: 6, arbitrary: fc.constant(new Uint8Array(32)) }, body(34)),
      cipherSuites: fc.oneof({ weight: 6, arbitrary: fc.constant(Uint8Array.of(0x13, 1)) }, body(9)),
      compression: fc.oneof({ weight: 6, arbitrary: fc.constant(Uint8Array.of(0)) }, body(3)),
      extensions: fc.oneof(fc.constant(null), fc.array(anyExtension, { maxLength: 5 }), named, named, named),
      type: mostly(22, 23),
      recordVersion: mostly(0x0301, 0x0303, 0x0300, 0x0304, 0x0201),
      behind: fc.oneof({ weight: 6, arbitrary: fc.constant(new Uint8Array()) }, body(8)),
    })
    .map(({ type, recordVersion, behind, ...parts }) =>
      bytesOf(record(helloMessage(parts), type, recordVersion), behind),
    );
  /** A hello with a few changed bytes, which often makes its lengths inconsistent. */
  const nudged = fc
    .tuple(hello, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }))
    .map(([bytes, changes]) => {
      const copy = bytes.slice();
      for (const [at, value] of changes) copy[at % copy.length] = value;
      return copy;
    });

  test.each([
    ['well-formed or nearly so', hello, 1500],
    ['with a byte or two changed', nudged, 800],
  ])('%s, reader and parser agree', (_title, arbitrary, least) => {
    const hellos = fc.sample(arbitrary, { numRuns: 20_000, seed: 7 });
    expect(compared(hellos).names).toBeGreaterThan(least);
    fc.assert(
      fc.property(fc.array(arbitrary, { minLength: 100, maxLength: 100 }), (some) => {
        compared(some);
      }),
      { numRuns: 10 },
    );
  });
});

describe('an unusual hello is not plain:', () => {
  const names = hostNameExtension('demo');
  const rows: [title: string, hello: Uint8Array][] = [
    ['a hello over two records', records(plain(), [100])],
    ['two records, the second empty', bytesOf(records(plain()), [22, 3, 1, 0, 0])],
    ['a second message in the record', record(bytesOf(plain(), message(20, new Uint8Array(12))))],
    ['another record behind it', bytesOf(records(plain()), record(Uint8Array.of(1), 20))],
    ['another handshake message', record(message(2, plain().subarray(4)))],
    ['a record of SSL 3.0', record(plain(), 22, 0x0300)],
    ['a record version that is not known', record(plain(), 22, 0x0304)],
    ['a client version that is not known', records(helloMessage({ version: 0x0304 }))],
    ['SSL 3.0', records(helloMessage({ version: 0x0300 }))],
    ['a session id that is too long', records(helloMessage({ sessionId: new Uint8Array(33) }))],
    ['no cipher suites', records(helloMessage({ cipherSuites: new Uint8Array() }))],
    ['half a cipher suite', records(helloMessage({ cipherSuites: new Uint8Array(3) }))],
    ['compression', records(helloMessage({ compression: Uint8Array.of(1, 0) }))],
    ['no extensions', records(helloMessage({ extensions: null }))],
    ['no name', records(helloMessage({ extensions: [] }))],
    ['two server_name extensions', records(helloMessage({ extensions: [names, names] }))],
    [
      'two names',
      records(helloMessage({ extensions: [serverNameExtension(nameEntry('a'), nameEntry('b'))] })),
    ],
    [
      'a name of another type',
      records(helloMessage({ extensions: [serverNameExtension(nameEntry('a', 1))] })),
    ],
    ['an empty list of names', records(helloMessage({ extensions: [serverNameExtension()] }))],
    ['an empty server_name', records(helloMessage({ extensions: [extension(0, new Uint8Array())] }))],
  ];
  for (const name of [
    '',
    '.',
    'Demo',
    'demo.',
    '.demo',
    'a..b',
    '10.0.0.1',
    '123',
    'a b',
    'a\0b',
    'a:b',
    'b\xfccher',
    'x'.repeat(64),
    `${'abcdefg.'.repeat(31)}abcdef`,
  ]) {
    rows.push([`the name ${JSON.stringify(name.slice(0, 20))}`, records(plain(name))]);
  }

  test.each(rows)('%s', (_title, hello) => {
    expect(readings([hello])).toEqual(['no']);
  });

  test('but the same hello without the unusual part is plain', () => {
    const good = [NAME, 'a', 'x'.repeat(63), 'a-1_b.2', `${'abcdefg.'.repeat(31)}abcde`];
    expect(readings(good.map((name) => records(plain(name))))).toEqual(good.map((name) => `name ${name}`));
    expect(messageIn(records(plain()))).toEqual(plain());
  });
});
