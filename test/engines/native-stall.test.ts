// JavaScript that stalls (a long computation, a garbage collection) never delays established connections, nor new ones whose answer
// is prepared: only those that it must be asked about.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { native } from '../../src/netns/native.ts';
import type { Listener } from '../../src/proxy/engine.ts';
import { NativeEngine } from '../../src/proxy/native/native-engine.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from '../conformance/engine.ts';
import { helloFor, NAME } from '../conformance/engine-prepared.ts';
import { clockMs, EchoPair } from '../support/echo-pair.ts';

/** Long enough for many turns of others on a machine that is busy with other things. */
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

const stands = (): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
};

/** Objects that live on for a while: collections that copy them, and collections of all there is. */
const collectsGarbage = (): void => {
  const end = performance.now() + STALL_MS;
  const kept: object[][] = [];
  for (let round = 0; performance.now() < end; round += 1)
    kept[round % 20] = Array.from({ length: 20_000 }, (_, index) => ({ index, text: `${round}/${index}` }));
};

/**
 * This thread, the one that answers the engine, does nothing else meanwhile. Resolves with the turns that the others made meanwhile, and
 * the longest time in which there was none.
 */
async function turnsMeanwhile(stall = stands): Promise<{ turns: number; within: number; gapMs: number }> {
  const fromMs = clockMs();
  stall();
  return pair.result(fromMs, clockMs());
}

it.each([
  ['stands still', stands],
  ['collects garbage', collectsGarbage],
])('established connections go on while JavaScript %s', async (_what, stall) => {
  // The other process sends a byte to and fro through us, all the time.
  await pair.pingThrough(listener.port);
  const { within, gapMs } = await turnsMeanwhile(stall);
  expect(within).toBeGreaterThan(5);
  // A bound for a busy machine: one that waits for JavaScript waits for all of it.
  expect(gapMs).toBeLessThan(STALL_MS / 2);
});

it('new connections whose answer is prepared are not even delayed', async () => {
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

it('those that it is asked about wait, so that the test above means something', async () => {
  await pair.visitThrough(listener.port, helloFor(NAME));
  const { within } = await turnsMeanwhile();
  expect(policy.questions.length).toBeGreaterThan(0);
  expect(within).toBeLessThanOrEqual(1); // the one that was answered when it began
});
