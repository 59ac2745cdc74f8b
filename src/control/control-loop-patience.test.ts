// How long each trigger waits for its turn, measured on a fake clock.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ControlLoop, type TriggerReason } from './control-loop.ts';
import { TurnCache } from './objects/turn-cache.ts';

let loop: ControlLoop;
let turnTakesMs: number;
/** When each turn began. */
let turns: number[];

beforeEach(async () => {
  vi.useFakeTimers();
  const clock = performance.now.bind(performance);
  let busyMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + busyMs);
  turnTakesMs = 0;
  turns = [];
  loop = new ControlLoop({
    source: {
      start: async () => {},
      snapshot: () => {
        turns.push(performance.now());
        busyMs += turnTakesMs;
        return { complete: true, clusters: [], problems: [] };
      },
      readyChecks: () => [],
      stop: async () => {},
    },
    netns: { snapshot: () => ({ complete: true, entries: [], problems: [] }), rescan: () => {} },
    health: { snapshot: () => new Map(), setTargets: () => {} },
    settings: { namespace: 'magnum-system', defaultCluster: null },
    cache: new TurnCache(),
    publish: () => {},
    onTurnError: (error) => {
      throw error;
    },
    intervalMs: 1_000_000,
  });
});
afterEach(async () => {
  await loop.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** Runs one turn that takes `tookMs`, then lets `agoMs` pass. */
async function afterTurn(tookMs: number, agoMs = 0): Promise<void> {
  turnTakesMs = tookMs;
  await loop.start();
  await pass(agoMs);
  turns.length = 0;
}
async function waitFor(reason: TriggerReason): Promise<number> {
  const triggeredMs = performance.now();
  loop.trigger(reason);
  for (let ms = 0; ms < 1000 && turns.length === 0; ms += 1) await pass(1);
  return Math.floor(turns[0]! - triggeredMs);
}

describe('right after a turn of 20 ms', () => {
  for (const [reason, waitMs] of [
    ['backend-down', 20],
    ['backend-up', 60],
    ['kubernetes', 60],
    ['netns', 0],
    ['source', 0],
    ['ports', 0],
    ['tick', 0],
  ] as const) {
    test(`'${reason}' waits ${waitMs} ms`, async () => {
      await afterTurn(20);
      const waited = await waitFor(reason);
      expect(waited).toBeGreaterThanOrEqual(waitMs - 1);
      expect(waited).toBeLessThanOrEqual(waitMs + 2);
    });
  }
});

describe('after a turn of half a second', () => {
  for (const [reason, mostMs] of [
    ['backend-down', 20],
    ['backend-up', 100],
    ['kubernetes', 250],
  ] as const) {
    test(`'${reason}' waits its maximum of ${mostMs} ms`, async () => {
      await afterTurn(500);
      const waited = await waitFor(reason);
      expect(waited).toBeGreaterThanOrEqual(mostMs - 1);
      expect(waited).toBeLessThanOrEqual(mostMs + 2);
    });
  }
});

describe('after a quiet period', () => {
  for (const reason of ['backend-up', 'backend-down', 'kubernetes'] as const) {
    test(`'${reason}' does not wait, even if the last turn was long`, async () => {
      await afterTurn(500, 1000);
      expect(await waitFor(reason)).toBeLessThanOrEqual(1);
    });
  }
});

test('a thousand backends that come up within a second cause about ten turns', async () => {
  await afterTurn(20, 1000);
  for (let i = 0; i < 1000; i += 1) {
    loop.trigger('backend-up');
    await pass(1);
  }
  expect(turns.length).toBeGreaterThan(5);
  expect(turns.length).toBeLessThan(20);
  // The last trigger still gets its turn.
  const before = turns.length;
  await pass(100);
  expect(turns.length).toBe(before + 1);
});

test('a backend that fails gets its turn before waiting backends that came up', async () => {
  await afterTurn(20);
  loop.trigger('backend-up');
  await pass(5);
  expect(await waitFor('backend-down')).toBeLessThanOrEqual(17);
  turns.length = 0;
  await pass(50);
  expect(turns).toEqual([]); // that turn covered both triggers
});

test('a turn for another reason also covers the waiting triggers', async () => {
  await afterTurn(20);
  loop.trigger('backend-up');
  expect(await waitFor('netns')).toBeLessThanOrEqual(1);
  turns.length = 0;
  await pass(200);
  expect(turns).toEqual([]);
});

test('hurry gives waiting triggers their turn in this round of the event loop', async () => {
  await afterTurn(20);
  loop.hurry();
  await pass(1);
  expect(turns).toEqual([]); // no trigger waited
  loop.trigger('backend-up');
  loop.hurry();
  await pass(0);
  expect(turns).toHaveLength(1);
});
