import { expect, it } from 'vitest';
import { givingWay } from './giving-way.ts';

const busyFor = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

it('waits for nobody while the piece was short', () => {
  expect(givingWay()()).toBeUndefined();
});

it('lets others go first once it has taken its time, and then counts anew', async () => {
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
