// Parsing bytes that arrive slowly costs at most a small constant per byte. The tests count work and do not measure time.

import { describe, expect, test } from 'vitest';
import { type HelloProgress, newHelloProgress, parseClientHello } from '../../src/tls/client-hello.ts';
import { helloMessage, longHello, oneByteRecords, records } from './hello-builder.ts';

/** Requested fields, parsed record headers, copied bytes: all work that can happen more than once per call. */
function workOf(progress: HelloProgress): number {
  return progress.steps + progress.records.work;
}

function workAtOnce(raw: Uint8Array): number {
  const progress = newHelloProgress();
  expect(parseClientHello(raw, progress).kind).toBe('server-name');
  return workOf(progress);
}

function workByteByByte(raw: Uint8Array): number {
  const progress = newHelloProgress();
  for (let length = 0; length < raw.length; length += 1) {
    if (parseClientHello(raw.subarray(0, length), progress).kind !== 'incomplete')
      expect.fail(`at ${length}`);
  }
  expect(parseClientHello(raw, progress).kind).toBe('server-name');
  return workOf(progress);
}

const LONGEST = 4 + 65_536;

describe.each([
  ['in full records', (message: Uint8Array) => records(message)],
  ['in one-byte records', oneByteRecords],
  [
    'in three-byte records',
    (message: Uint8Array) => records(message, new Array<number>(message.length).fill(3)),
  ],
])('the longest hello %s', (_title, intoRecords) => {
  const raw = intoRecords(longHello(LONGEST));
  const half = intoRecords(longHello(LONGEST / 2));

  test('takes at most one unit of work per byte if it arrives at once', () => {
    expect(workAtOnce(raw)).toBeLessThanOrEqual(raw.length);
  });

  test('takes at most three units of work per byte if it arrives byte by byte', () => {
    expect(workByteByByte(raw)).toBeLessThanOrEqual(3 * raw.length);
  });

  test('takes at most twice the work of a hello of half its length', () => {
    expect(workByteByByte(raw) / workByteByByte(half)).toBeLessThan(2.01);
    expect(workAtOnce(raw) / workAtOnce(half)).toBeLessThan(2.01);
  });
});

test('a call without new bytes costs at most two units of work', () => {
  const raw = oneByteRecords(helloMessage());
  for (let length = 0; length < raw.length; length += 1) {
    const progress = newHelloProgress();
    parseClientHello(raw.subarray(0, length), progress);
    const before = workOf(progress);
    parseClientHello(raw.subarray(0, length), progress);
    expect(workOf(progress) - before).toBeLessThanOrEqual(2);
  }
});
