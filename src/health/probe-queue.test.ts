import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { busiestWindow } from '../../test/health/busiest-window.ts';
import { ProbeQueue } from './probe-queue.ts';
import type { Due } from './schedule.ts';

const INTERVAL_MS = 2000;
interface Waiting extends Due {
  dueMs: number;
}
const waiting = (dueMs: number): Waiting => ({ dueMs, slackMs: 0, urgency: 0 });

/** Every member is due again at once, and a probe takes no time: only the queue limits the starts. */
function busy(
  queue: ProbeQueue<Waiting>,
  untilMs: number,
  lateness: () => number,
): { starts: number[]; wakeUps: number } {
  const starts: number[] = [];
  let wakeUps = 0;
  for (let nowMs = 0; nowMs < untilMs; wakeUps += 1) {
    const { picks, wakeMs } = queue.take(nowMs, INTERVAL_MS, Number.POSITIVE_INFINITY);
    for (const pick of picks) {
      starts.push(nowMs);
      pick.dueMs = nowMs;
      queue.ended();
    }
    nowMs = Math.ceil(wakeMs) + lateness();
  }
  return { starts, wakeUps };
}

function queueOf(count: number, perSecond: number, places = count): ProbeQueue<Waiting> {
  const queue = new ProbeQueue<Waiting>(perSecond, places);
  for (let i = 0; i < count; i += 1) queue.members.add(waiting(0));
  return queue;
}

describe('a queue', () => {
  for (const lateMs of [0, 10, 45]) {
    test(`keeps its rate although every timer is ${lateMs} ms late`, () => {
      const { starts } = busy(queueOf(1000, 200), 10_000, () => lateMs);
      expect(starts.length).toBeGreaterThan(1950);
      expect(starts.length).toBeLessThanOrEqual(2021);
    });
  }

  test('wakes up once for several probes', () => {
    const { starts, wakeUps } = busy(queueOf(1000, 200), 10_000, () => 0);
    expect(starts.length / wakeUps).toBeGreaterThan(9);
  });

  test('never exceeds its rate by more than a tenth in any second, for any wake-up times', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.integer({ min: 0, max: 300 })), (late) => {
        const { starts } = busy(queueOf(1000, 200), 5000, () => late.next().value as number);
        expect(busiestWindow(starts, 1000)).toBeLessThanOrEqual(221);
      }),
      { numRuns: 20 },
    );
  });

  test('wakes up when the first waiting member is due', () => {
    const queue = new ProbeQueue<Waiting>(200, 10);
    queue.members.add(waiting(700)).add(waiting(300));
    expect(queue.take(0, INTERVAL_MS, 10)).toEqual({ picks: [], wakeMs: 300 });
  });

  test('sets no wake-up while no further probe may start, and continues when a probe ends', () => {
    const queue = queueOf(10, 1000, 3);
    expect(queue.take(0, INTERVAL_MS, 10)).toMatchObject({
      picks: { length: 3 },
      wakeMs: Number.POSITIVE_INFINITY,
    });
    expect(queue.isFull).toBe(true);
    expect(queue.take(50, INTERVAL_MS, 10)).toEqual({ picks: [], wakeMs: Number.POSITIVE_INFINITY });
    queue.ended();
    expect([queue.isFull, queue.running]).toEqual([false, 2]);
    expect(queue.take(50, INTERVAL_MS, 10).picks).toHaveLength(1);
  });

  test('starts no more probes than the caller allows', () => {
    const queue = queueOf(10, 1000);
    expect(queue.take(0, INTERVAL_MS, 0)).toEqual({ picks: [], wakeMs: Number.POSITIVE_INFINITY });
    expect(queue.take(0, INTERVAL_MS, 2).picks).toHaveLength(2);
  });

  test('sets no wake-up without members', () => {
    expect(new ProbeQueue<Waiting>(200, 10).take(0, INTERVAL_MS, 10).wakeMs).toBe(Number.POSITIVE_INFINITY);
  });
});
