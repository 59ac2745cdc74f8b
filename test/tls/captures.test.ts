import { describe, expect, test } from 'vitest';
import { type HelloResult, newHelloProgress, parseClientHello } from '../../src/tls/client-hello.ts';
import { CAPTURES } from '../captures/captures.ts';
import { bytesOf, messageIn, oneByteRecords, records } from './hello-builder.ts';

describe.each(CAPTURES)('the hello of $name', ({ serverName, bytes }) => {
  const answer: HelloResult =
    serverName === null ? { kind: 'no-server-name' } : { kind: 'server-name', serverName };

  test('yields the server name of its client', () => {
    expect(parseClientHello(bytes)).toEqual(answer);
  });

  test('is incomplete in every strict prefix, and minBytes stays within its length', () => {
    for (let length = 0; length < bytes.length; length += 1) {
      const result = parseClientHello(bytes.subarray(0, length));
      if (result.kind !== 'incomplete') expect.fail(`${result.kind} at ${length}`);
      expect(result.minBytes).toBeGreaterThan(length);
      expect(result.minBytes).toBeLessThanOrEqual(bytes.length);
    }
  });

  test('gives the same answer in two segments with any boundary', () => {
    for (let length = 0; length < bytes.length; length += 1) {
      const progress = newHelloProgress();
      parseClientHello(bytes.subarray(0, length), progress);
      expect(parseClientHello(bytes, progress)).toEqual(answer);
    }
  });

  test('gives the same answer in two records with any boundary, and in one-byte records', () => {
    const message = messageIn(bytes);
    for (let length = 1; length < message.length; length += 1) {
      expect(parseClientHello(records(message, [length]))).toEqual(answer);
    }
    expect(parseClientHello(oneByteRecords(message))).toEqual(answer);
  });

  test('needs only a few calls if the caller waits for minBytes', () => {
    const progress = newHelloProgress();
    let questions = 0;
    for (let length = 0; length < bytes.length; questions += 1) {
      const result = parseClientHello(bytes.subarray(0, length), progress);
      if (result.kind !== 'incomplete') expect.fail(result.kind);
      length = result.minBytes;
    }
    // One call for each parsed field, even if every field is a separate segment.
    expect(questions).toBeLessThan(40);
    expect(parseClientHello(bytes, progress)).toEqual(answer);
  });

  test('with any one byte changed never makes the parser throw or change its answer', () => {
    const kinds = new Set<string>();
    const changed = bytes.slice();
    for (let at = 0; at < bytes.length; at += 1) {
      const original = changed[at] as number;
      for (let value = 0; value < 256; value += 1) {
        // Every value in bytes that hold lengths and types. Elsewhere single-bit flips are enough and find the same errors.
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
    // The parser never treats a hello with inconsistent lengths as incomplete.
    expect(kinds).not.toContain('incomplete');
  });
});

test('the captures cover the required cases', () => {
  const lengthOf = (name: string) => CAPTURES.find((capture) => capture.name === name)?.bytes.length ?? 0;
  // Post-quantum key shares.
  expect(lengthOf('go-1.26')).toBeGreaterThan(1_460);
  expect(lengthOf('chromium-156-a')).toBeGreaterThan(1_460);
  // A browser permutes its extensions, so the position of the name changes.
  const nameAt = CAPTURES.filter((capture) => capture.name.startsWith('chromium')).map((capture) =>
    Buffer.from(capture.bytes).indexOf('demo-cluster'),
  );
  expect(new Set(nameAt).size).toBe(nameAt.length);
  // In one capture the name is past the first Ethernet segment.
  expect(Math.max(...nameAt)).toBeGreaterThan(1_460);
  // OpenSSL splits a hello over records if its settings require it.
  const split = CAPTURES.find((capture) => capture.name === 'openssl-3.0-four-records')?.bytes ?? bytesOf();
  expect(split.length - messageIn(split).length).toBe(4 * 5);
});
