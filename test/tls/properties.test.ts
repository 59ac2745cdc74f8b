import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type HelloResult,
  MAX_HELLO_BYTES,
  newHelloProgress,
  parseClientHello,
} from '../../src/tls/client-hello.ts';
import { CAPTURES } from '../captures/captures.ts';
import {
  bytesOf,
  extension,
  helloMessage,
  hostNameExtension,
  messageIn,
  nameEntry,
  oneByteRecords,
  records,
  serverNameExtension,
} from './hello-builder.ts';

const RUNS = { numRuns: 300 };

const letters = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_-]{0,20}$/);
const hostName = fc.array(letters, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));
const body = (maxLength: number) => fc.uint8Array({ maxLength });
const otherExtension = fc
  .tuple(fc.integer({ min: 1, max: 0xffff }), body(300))
  .map(([type, bytes]) => extension(type, bytes));
const unknownName = fc
  .tuple(fc.integer({ min: 1, max: 255 }), body(40))
  .map(([type, bytes]) => nameEntry(bytes, type));

interface Sample {
  readonly message: Uint8Array;
  readonly answer: HelloResult;
}

/** Any well-formed hello, and its expected result. */
const sample: fc.Arbitrary<Sample> = fc
  .record({
    name: fc.option(hostName, { nil: null }),
    dot: fc.constantFrom('', '.'),
    before: fc.array(otherExtension, { maxLength: 6 }),
    after: fc.array(otherExtension, { maxLength: 6 }),
    namesBefore: fc.array(unknownName, { maxLength: 2 }),
    namesAfter: fc.array(unknownName, { maxLength: 2 }),
    version: fc.integer({ min: 0x0301, max: 0x0304 }),
    sessionId: body(32),
    suites: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  })
  .map(({ name, dot, before, after, namesBefore, namesAfter, version, sessionId, suites }) => {
    const named =
      name === null ? [] : [serverNameExtension(...namesBefore, nameEntry(`${name}${dot}`), ...namesAfter)];
    return {
      message: helloMessage({
        version,
        sessionId,
        cipherSuites: bytesOf(suites, suites),
        extensions: [...before, ...named, ...after],
      }),
      answer:
        name === null ? { kind: 'no-server-name' } : { kind: 'server-name', serverName: name.toLowerCase() },
    };
  });

/** Bytes that reach deep into the parser and have an error somewhere: a captured or built hello with a few changed bytes. */
const nearlyHello: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...CAPTURES.map((capture) => messageIn(capture.bytes))),
      sample.map(({ message }) => message),
    ),
    fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 8 }),
    fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
    fc.uint8Array({ maxLength: 20 }),
  )
  .map(([message, sizes, changes, rest]) => {
    const raw = bytesOf(records(message, sizes), rest);
    for (const [at, value] of changes) raw[at % raw.length] = value;
    return raw;
  });

const anyBytes = fc.oneof(
  { weight: 4, arbitrary: nearlyHello },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
);

const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 30 });

/** Feeds growing prefixes, each a new copy, as segments of the given sizes would arrive; the rest comes last. */
function fedIn(segments: readonly number[], bytes: Uint8Array): HelloResult {
  const progress = newHelloProgress();
  let length = 0;
  for (const segment of segments) {
    length = Math.min(bytes.length, length + segment);
    parseClientHello(bytes.slice(0, length), progress);
  }
  return parseClientHello(bytes, progress);
}

/** The first read past the end of the bytes, if there is one. */
function overRead(bytes: Uint8Array): string | undefined {
  const guarded = new Proxy(bytes, {
    get(target, key) {
      if (typeof key === 'string' && /^-?\d+$/.test(key) && !(key in target)) {
        throw new RangeError(`read at ${key} of ${target.length}`);
      }
      return Reflect.get(target, key, target);
    },
  });
  try {
    parseClientHello(guarded);
    return undefined;
  } catch (error) {
    // Native code makes the string of a contiguous name and does not accept a proxy: the check ends there.
    return error instanceof RangeError ? error.message : undefined;
  }
}

describe('any well-formed hello', () => {
  test('is parsed correctly in any records and any segments', () => {
    fc.assert(
      fc.property(sample, cuts, cuts, ({ message, answer }, sizes, segments) => {
        const raw = records(message, sizes);
        expect(parseClientHello(raw)).toEqual(answer);
        expect(fedIn(segments, raw)).toEqual(answer);
      }),
      RUNS,
    );
  });

  test('is incomplete in every strict prefix', () => {
    fc.assert(
      fc.property(sample, cuts, ({ message }, sizes) => {
        const raw = records(message, sizes);
        const progress = newHelloProgress();
        for (let length = 0; length < raw.length; length += 1) {
          expect(parseClientHello(raw.subarray(0, length), progress).kind).toBe('incomplete');
        }
      }),
      { numRuns: 100 },
    );
  });

  test('is parsed correctly with any bytes after it', () => {
    fc.assert(
      fc.property(sample, fc.uint8Array(), ({ message, answer }, rest) => {
        expect(parseClientHello(bytesOf(records(message), rest))).toEqual(answer);
      }),
      RUNS,
    );
  });
});

describe('arbitrary bytes', () => {
  test('give the same answer in any segments', () => {
    fc.assert(
      fc.property(anyBytes, cuts, (bytes, segments) => {
        expect(fedIn(segments, bytes)).toEqual(parseClientHello(bytes));
      }),
      { numRuns: 3_000 },
    );
  });

  test('give an answer that more bytes never change', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const whole = parseClientHello(bytes);
        for (let length = 0; length < bytes.length; length += 1) {
          const early = parseClientHello(bytes.subarray(0, length));
          if (early.kind !== 'incomplete') expect(early).toEqual(whole);
        }
      }),
      RUNS,
    );
  });

  test('give the same incomplete answer below minBytes for any bytes after it, and minBytes is within the limit', () => {
    fc.assert(
      fc.property(
        anyBytes,
        fc.nat(),
        fc.infiniteStream(fc.integer({ min: 0, max: 255 })),
        (bytes, cut, stream) => {
          const known = bytes.subarray(0, cut % (bytes.length + 1));
          const result = parseClientHello(known);
          if (result.kind !== 'incomplete') return;
          expect(result.minBytes).toBeGreaterThan(known.length);
          expect(result.minBytes).toBeLessThanOrEqual(MAX_HELLO_BYTES);
          const more = new Uint8Array(result.minBytes - 1);
          more.set(known);
          for (let i = known.length; i < more.length; i += 1) more[i] = stream.next().value as number;
          expect(parseClientHello(more)).toEqual(result);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('are never read past their end', () => {
    fc.assert(
      fc.property(anyBytes, fc.nat(), (bytes, cut) => {
        const known = bytes.slice(0, cut % (bytes.length + 1));
        expect(overRead(known)).toBeUndefined();
        expect(overRead(oneByteRecords(known.slice(5)))).toBeUndefined();
      }),
      RUNS,
    );
    const hello = records(helloMessage({ extensions: [hostNameExtension('demo.example')] }));
    for (let length = 0; length < hello.length; length += 1) {
      expect(overRead(hello.slice(0, length))).toBeUndefined();
    }
  });

  test('are never modified', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const before = bytes.slice();
        parseClientHello(bytes);
        expect(bytes).toEqual(before);
      }),
      RUNS,
    );
  });
});
