import { expect, test } from 'vitest';
import { eventLoopYielder } from './yield-to-event-loop.ts';

const busyFor = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test('does not yield after a short step', () => {
  expect(eventLoopYielder()()).toBeUndefined();
});

test('yields to other work after a long step, and then restarts its clock', async () => {
  let others = 0;
  const yieldIfDue = eventLoopYielder();
  for (let turn = 1; turn <= 2; turn += 1) {
    setImmediate(() => {
      others += 1;
    });
    busyFor(10);
    await yieldIfDue();
    expect(others).toBe(turn);
  }
});
