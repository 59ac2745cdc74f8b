import { expect, it } from 'vitest';
import { givingWay } from './giving-way.ts';

const busyFor = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

it('does not yield after a short step', () => {
  expect(givingWay()()).toBeUndefined();
});

it('yields to other work after a long step, and then restarts its clock', async () => {
  let others = 0;
  const giveWay = givingWay();
  for (let turn = 1; turn <= 2; turn += 1) {
    setImmediate(() => {
      others += 1;
    });
    busyFor(10);
    await giveWay();
    expect(others).toBe(turn);
  }
});
