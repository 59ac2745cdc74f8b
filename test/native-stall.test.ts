// JavaScript that stalls (a long computation, a garbage collection) delays new connections only, never established ones.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { native } from '../src/netns/native.ts';
import { NativeEngine } from '../src/proxy/native/native-engine.ts';
import { backendOf, candidates, RecordingPolicy, TEST_LIMITS } from './conformance/engine.ts';
import { EchoPair } from './support/echo-pair.ts';

const engine = new NativeEngine(TEST_LIMITS, native, 1);
let pair: EchoPair;

beforeAll(async () => {
  pair = await EchoPair.start();
});
afterAll(async () => {
  await pair.stop();
  await engine.close();
});

it('established connections go on while JavaScript is busy for 200 ms', async () => {
  const policy = new RecordingPolicy(() =>
    candidates(backendOf({ address: '127.0.0.1', port: pair.echoPort })),
  );
  const listener = await engine.openListener({
    name: 'test',
    host: '127.0.0.1',
    port: 0,
    mode: 'hello',
    policy,
  });
  // The other process sends a byte to and fro through us, all the time, and says how long the slowest turn took.
  await pair.pingThrough(listener.port);
  const end = performance.now() + 200;
  while (performance.now() < end); // this thread, the one that answers the engine, does nothing else now
  const { turns, slowestMs } = await pair.result();
  expect(turns).toBeGreaterThan(50);
  expect(slowestMs).toBeLessThan(150); // with JavaScript in the path it would be 200 at least
});
