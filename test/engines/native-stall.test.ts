// A stall of JavaScript (a long computation, a garbage collection) never delays established connections, nor new ones whose answer is
// prepared. It delays only connections that the policy must decide.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { native } from '../../src/netns/native.ts';
import type { Listener } from '../../src/proxy/engine.ts';
import { NativeEngine } from '../../src/proxy/native/native-engine.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from '../conformance/engine.ts';
import { helloFor, NAME } from '../conformance/engine-prepared.ts';
import { clockMs, EchoPair } from '../support/echo-pair.ts';

/** Long enough for many round trips of the other process on a busy machine. */
const STALL_MS = 3000;

let engine: NativeEngine;
let pair: EchoPair;
let policy: RecordingPolicy;
let listener: Listener;

beforeEach(async () => {
  engine = new NativeEngine(TEST_LIMITS, native, 1);
  pair = await EchoPair.start();
  policy = new RecordingPolicy(() => candidates(backend()));
  listener = await engine.openListener({
    name: 'test',
    host: '127.0.0.1',
    port: 0,
    mode: 'hello',
    policy,
  });
});
afterEach(async () => {
  await pair.stop();
  await engine.close();
});

const backend = () => backendOf({ address: '127.0.0.1', port: pair.echoPort });

const blocks = (): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
};

/** Allocates objects that survive for a while, which causes both scavenges and full collections. */
const collectsGarbage = (): void => {
  const end = performance.now() + STALL_MS;
  const kept: object[][] = [];
  for (let round = 0; performance.now() < end; round += 1)
    kept[round % 20] = Array.from({ length: 20_000 }, (_, index) => ({ index, text: `${round}/${index}` }));
};

/**
 * Stalls this thread, which answers the engine. Resolves with the round trips of the other process in that period, and with the longest gap
 * between them.
 */
async function turnsMeanwhile(stall = blocks): Promise<{ turns: number; within: number; gapMs: number }> {
  const fromMs = clockMs();
  stall();
  return pair.result(fromMs, clockMs());
}

test.each([
  ['is blocked', blocks],
  ['collects garbage', collectsGarbage],
])('established connections go on while JavaScript %s', async (_what, stall) => {
  // The other process continuously sends a byte back and forth through the engine.
  await pair.pingThrough(listener.port);
  const { within, gapMs } = await turnsMeanwhile(stall);
  expect(within).toBeGreaterThan(5);
  // A generous bound for a busy machine. A connection that waits for JavaScript waits for the entire stall.
  expect(gapMs).toBeLessThan(STALL_MS / 2);
});

test('new connections whose answer is prepared are not delayed while JavaScript is blocked', async () => {
  listener.prepare(
    new Map([[NAME, { backends: [backend()], farewell: null, share: { key: 'a', limit: 100 }, note: 'n' }]]),
  );
  await pair.visitThrough(listener.port, helloFor(NAME));
  const { turns, within } = await turnsMeanwhile();
  expect(policy.questions).toEqual([]);
  expect(within).toBeGreaterThan(5);
  const report = await policy.nextReport(turns);
  expect(report).toMatchObject({ note: 'n', backend: backend() });
});

test('connections that the policy must decide wait while JavaScript is blocked', async () => {
  await pair.visitThrough(listener.port, helloFor(NAME));
  const { within } = await turnsMeanwhile();
  expect(policy.questions.length).toBeGreaterThan(0);
  expect(within).toBeLessThanOrEqual(1); // the connection that was answered when the stall began
});
