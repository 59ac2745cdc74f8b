import { describe, expect, test } from 'vitest';
import { type HelloResult, newHelloProgress, parseClientHello } from '../../src/tls/client-hello.ts';
import { CAPTURES } from '../captures/captures.ts';
import { bytesOf, messageIn, oneByteRecords, records } from './hello-builder.ts';

describe.each(CAPTURES)('the hello of $name', ({ serverName, bytes }) => {
  const answer: HelloResult =
    serverName === null ? { kind: 'no-server-name' } : { kind: 'server-name', serverName };

  test('gives the name that its client was told', () => {
    expect(parseClientHello(bytes)).toEqual(answer);
  });

  test('is incomplete in every strict prefix, and knows how far it can wait', () => {
    for (let length = 0; length < bytes.length; length += 1) {
      const result = parseClientHello(bytes.subarray(0, length));
      if (result.kind !== 'incomplete') expect.fail(`${result.kind} at ${length}`);
      expect(result.minBytes).toBeGreaterThan(length);
      expect(result.minBytes).toBeLessThanOrEqual(bytes.length);
    }
  });

  test('gives the same answer in two segments, wherever they part', () => {
    for (let length = 0; length < bytes.length; length += 1) {
      const progress = newHelloProgress();
      parseClientHello(bytes.subarray(0, length), progress);
      expect(parseClientHello(bytes, progress)).toEqual(answer);
    }
  });

  test('gives the same answer in two records, wherever they part, and in one-byte records', () => {
    const message = messageIn(bytes);
    for (let length = 1; length < message.length; length += 1) {
      expect(parseClientHello(records(message, [length]))).toEqual(answer);
    }
    expect(parseClientHello(oneByteRecords(message))).toEqual(answer);
  });

  test('is asked about only a few times when the caller heeds minBytes', () => {
    const progress = newHelloProgress();
    let questions = 0;
    for (let length = 0; length < bytes.length; questions += 1) {
      const result = parseClientHello(bytes.subarray(0, length), progress);
      if (result.kind !== 'incomplete') expect.fail(result.kind);
      length = result.minBytes;
    }
    // One for each field we look at, even if every field were a segment of its own.
    expect(questions).toBeLessThan(40);
    expect(parseClientHello(bytes, progress)).toEqual(answer);
  });

  test('with any one byte changed never makes the parser throw or forget its answer', () => {
    const kinds = new Set<string>();
    const changed = bytes.slice();
    for (let at = 0; at < bytes.length; at += 1) {
      const original = changed[at] as number;
      for (let value = 0; value < 256; value += 1) {
        // Every value where lengths and types are; elsewhere the single-bit flips, which find the same.
        if (at >= 64 && (original ^ value) & ((original ^ value) - 1)) continue;
        changed[at] = value;
        const progress = newHelloProgress();
        const half = parseClientHello(changed.subarray(0, at + 1), progress);
        const whole = parseClientHello(changed);
        const resumed = parseClientHello(changed, progress);
        kinds.add(whole.kind);
        if (half.kind !== 'incomplete') expect(whole).toEqual(half);
        if (JSON.stringify(resumed) !== JSON.stringify(whole)) expect(resumed).toEqual(whole);
      }
      changed[at] = original;
    }
    expect(kinds).toContain('invalid');
    // A hello whose lengths no longer add up is never mistaken for one that is still to come.
    expect(kinds).not.toContain('incomplete');
  });
});

test('the captures cover what they are here for', () => {
  const lengthOf = (name: string) => CAPTURES.find((capture) => capture.name === name)?.bytes.length ?? 0;
  // Post-quantum key shares.
  expect(lengthOf('go-1.26')).toBeGreaterThan(1_460);
  expect(lengthOf('chromium-156-a')).toBeGreaterThan(1_460);
  // A browser permutes its extensions, so that the name lies somewhere else each time.
  const nameAt = CAPTURES.filter((capture) => capture.name.startsWith('chromium')).map((capture) =>
    Buffer.from(capture.bytes).indexOf('demo-cluster'),
  );
  expect(new Set(nameAt).size).toBe(nameAt.length);
  // In one of them past the first segment of an Ethernet.
  expect(Math.max(...nameAt)).toBeGreaterThan(1_460);
  // OpenSSL does split a hello over records when it is told to.
  const split = CAPTURES.find((capture) => capture.name === 'openssl-3.0-four-records')?.bytes ?? bytesOf();
  expect(split.length - messageIn(split).length).toBe(4 * 5);
});
