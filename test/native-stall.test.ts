// JavaScript that stalls (a long computation, a garbage collection) never delays established connections, nor new ones whose answer
// is prepared: only those that it must be asked about.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { native } from '../src/netns/native.ts';
import type { Listener } from '../src/proxy/engine.ts';
import { NativeEngine } from '../src/proxy/native/native-engine.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from './conformance/engine.ts';
import { helloFor, NAME } from './conformance/engine-prepared.ts';
import { EchoPair } from './support/echo-pair.ts';

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

/** This thread, the one that answers the engine, does nothing else meanwhile. */
function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

it('established connections go on while JavaScript is busy for 200 ms', async () => {
  // The other process sends a byte to and fro through us, all the time, and says how long the slowest turn took.
  await pair.pingThrough(listener.port);
  stall(200);
  const { turns, slowestMs } = await pair.result();
  expect(turns).toBeGreaterThan(50);
  expect(slowestMs).toBeLessThan(150); // with JavaScript in the path it would be 200 at least
});

it('new connections whose answer is prepared are not even delayed', async () => {
  listener.prepare(
    new Map([[NAME, { backends: [backend()], farewell: null, share: { key: 'a', limit: 100 }, note: 'n' }]]),
  );
  await pair.visitThrough(listener.port, helloFor(NAME));
  stall(200);
  const { turns, slowestMs } = await pair.result();
  expect(policy.questions).toEqual([]);
  expect(turns).toBeGreaterThan(20);
  expect(slowestMs).toBeLessThan(150);
  const report = await policy.nextReport(turns);
  expect(report).toMatchObject({ note: 'n', backend: backend() });
});

it('those that it is asked about wait, so that the test above means something', async () => {
  await pair.visitThrough(listener.port, helloFor(NAME));
  stall(200);
  const { slowestMs } = await pair.result();
  expect(policy.questions.length).toBeGreaterThan(0);
  expect(slowestMs).toBeGreaterThan(150);
});
