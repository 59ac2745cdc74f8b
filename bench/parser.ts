// Measures the cost of parsing a ClientHello: `node bench/parser.ts`. It first times each captured hello. It then shows, with counts and
// times, that the work stays linear when the bytes arrive in small segments.

import { type HelloProgress, newHelloProgress, parseClientHello } from '../src/tls/client-hello.ts';
import { CAPTURES } from '../test/captures/captures.ts';
import { longHello, oneByteRecords, records } from '../test/tls/hello-builder.ts';

const ROUNDS = 15;
const PARSES_PER_ROUND = 20_000;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/** Returns the median time of one call over several rounds. */
function nsPerCall(rounds: number, calls: number, call: () => void): number {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < calls; i += 1) call();
    times.push(Number(process.hrtime.bigint() - start) / calls);
  }
  return median(times);
}

interface Arrival {
  readonly calls: number;
  readonly work: number;
}

/** Parses `raw` as it arrives, `segment` bytes at a time. With `waits`, it waits until `minBytes` have arrived. */
function arrive(raw: Uint8Array, segment: number, waits = false): Arrival {
  const progress: HelloProgress = newHelloProgress();
  let calls = 0;
  let minBytes = 0;
  for (let length = segment; ; length += segment) {
    const arrived = Math.min(length, raw.length);
    if (waits && arrived < minBytes) continue;
    calls += 1;
    const result = parseClientHello(raw.subarray(0, arrived), progress);
    if (result.kind !== 'incomplete') break;
    minBytes = result.minBytes;
  }
  return { calls, work: progress.steps + progress.records.work };
}

/** Storing the result keeps the compiler from removing the call. */
let lastKind = '';
const timed = CAPTURES.map(({ name, bytes }) => {
  const parse = () => {
    lastKind = parseClientHello(bytes).kind;
  };
  nsPerCall(3, PARSES_PER_ROUND, parse);
  return {
    hello: name,
    bytes: bytes.length,
    'ns per parse': Math.round(nsPerCall(ROUNDS, PARSES_PER_ROUND, parse)),
  };
});
console.table(timed);

const message = longHello(4 + 65_536);
const inFull = records(message);
const inOneByteRecords = oneByteRecords(message);
const scenarios: readonly [title: string, raw: Uint8Array, segment: number, waits: boolean][] = [
  ['full records, at once', inFull, inFull.length, false],
  ['full records, segments of 1460', inFull, 1_460, false],
  ['full records, byte by byte', inFull, 1, false],
  ['full records, byte by byte, waiting for minBytes', inFull, 1, true],
  ['one-byte records, at once', inOneByteRecords, inOneByteRecords.length, false],
  ['one-byte records, byte by byte', inOneByteRecords, 1, false],
  ['one-byte records, byte by byte, waiting for minBytes', inOneByteRecords, 1, true],
];
console.log(`last answer: ${lastKind}`);
console.log('The longest hello, a body of 65 536 bytes. Work: fields requested, headers read, bytes copied.');
console.table(
  scenarios.map(([title, raw, segment, waits]) => {
    const { calls, work } = arrive(raw, segment, waits);
    const ns = nsPerCall(5, 1, () => arrive(raw, segment, waits));
    return {
      arrival: title,
      'raw bytes': raw.length,
      calls,
      work,
      'work per byte': Number((work / raw.length).toFixed(2)),
      ms: Number((ns / 1e6).toFixed(2)),
    };
  }),
);
