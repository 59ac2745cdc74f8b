import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_HEALTH_SETTINGS as SETTINGS } from './health-settings.ts';
import {
  type Due,
  delayAfterProbeMs,
  dueInOrder,
  firstDueMs,
  stretchedIntervalMs,
  type Urgency,
  urgencyAfterProbe,
} from './schedule.ts';
import { nextVerdict, UNPROVEN } from './target-health.ts';

const MIDDLE = 0.5; // of the jitter
const verdictAfter = (results: string) =>
  Array.from(results).reduce((state, each) => nextVerdict(state, each === '+', SETTINGS), UNPROVEN);
const serverAfter = (results: string) => ({ verdict: verdictAfter(results), target: {} });
const wayAfter = (way: 'needed' | 'spare', results: string) => ({
  verdict: verdictAfter(results),
  target: { way },
});

describe('the next probe', () => {
  const rows: [sentence: string, results: string, delayMs: number][] = [
    ['follows fast after the first failure of a new target', '-', 200],
    ['slows down while a new target keeps failing', '--', 400],
    ['slows down further', '---', 800],
    ['slows down further still', '----', 1600],
    ['comes at the plain interval once a target is settled down', '-----', 2000],
    ['stays at the plain interval while it is down', '-'.repeat(2000), 2000],
    ['follows fast after the first success of a new target', '+', 200],
    ['follows fast after the first success of a settled down target', '--------+', 200],
    ['follows fast after a target came up', '++', 200],
    ['slows down while an up target stays up', '+++', 400],
    ['comes at the plain interval once a target is settled up', '+++++++', 2000],
    ['follows fast after the first failure of an up target', '+++++++-', 200],
    ['follows fast after a target went down', '+++++++--', 200],
    ['follows fast after a failure that did not repeat', '+++++++-+', 200],
  ];
  for (const [sentence, results, delayMs] of rows) {
    test(`${sentence}: ${delayMs} ms`, () => {
      expect(delayAfterProbeMs(serverAfter(results), SETTINGS, 1, MIDDLE)).toBe(delayMs);
    });
  }

  const ways: [sentence: string, way: 'needed' | 'spare', results: string, delayMs: number][] = [
    ['of a needed way that is up comes at the plain interval', 'needed', '+++++++', 2000],
    ['of a needed way that just failed follows fast', 'needed', '+++++++-', 200],
    ['of a needed way that is down comes at five times the interval', 'needed', '--------', 10_000],
    ['of a needed way that is new and failed is not fast either', 'needed', '-', 10_000],
    ['of a spare way comes at thirty times the interval, even right after it came up', 'spare', '++', 60_000],
    ['of a spare way that is down comes at thirty times the interval', 'spare', '-', 60_000],
    ['of a spare way that passed once follows fast', 'spare', '-----+', 200],
    ['of a spare way that failed once follows fast', 'spare', '+++++++-', 200],
  ];
  for (const [sentence, way, results, delayMs] of ways) {
    test(`${sentence}: ${delayMs} ms`, () => {
      expect(delayAfterProbeMs(wayAfter(way, results), SETTINGS, 1, MIDDLE)).toBeCloseTo(delayMs);
    });
  }

  test('has a jitter of plus or minus a tenth', () => {
    const settled = serverAfter('+++++++');
    expect(delayAfterProbeMs(settled, SETTINGS, 1, 0)).toBeCloseTo(1800);
    expect(delayAfterProbeMs(settled, SETTINGS, 1, 0.999999)).toBeCloseTo(2200, 1);
  });
});

describe('a target', () => {
  for (const [sentence, results, urgency] of [
    ['is routine while it is down', '---', 0],
    ['is urgent when it is down and passed once', '---+', 1],
    ['is routine while it is up', '+++', 0],
    ['is most urgent when it is up and failed once', '+++-', 2],
    ['is routine again once it is known to be down', '+++--', 0],
  ] as const) {
    test(sentence, () => expect(urgencyAfterProbe(verdictAfter(results))).toBe(urgency));
  }
});

describe('the interval', () => {
  for (const [targets, ms] of [
    [0, 2000],
    [1, 2000],
    [400, 2000],
    [401, 2005],
    [1000, 5000],
    [10_000, 50_000],
  ] as const) {
    test(`is ${ms} ms with ${targets} targets`, () =>
      expect(stretchedIntervalMs(SETTINGS, targets)).toBe(ms));
  }

  test('spreads the first probes of 1000 new targets over a second', () => {
    expect([0, 1, 999].map((index) => firstDueMs(SETTINGS, 100, index))).toEqual([100, 101, 1099]);
  });
});

describe('the order of several waiting targets', () => {
  const at = (dueMs: number, urgency: Urgency = 0, slackMs = 0) => ({ dueMs, urgency, slackMs });

  const picked = (waiting: Iterable<Due>, nowMs: number, most = 100) =>
    dueInOrder(waiting, nowMs, 2000, most).picks;

  test('picks no target before it is due, and wakes up for the first one', () => {
    expect(dueInOrder([at(30, 1), at(20)], 10, 2000, 100)).toEqual({ picks: [], due: 0, wakeMs: 20 });
  });
  test('sets no wake-up without targets', () => {
    expect(dueInOrder([], 10, 2000, 100)).toEqual({ picks: [], due: 0, wakeMs: Number.POSITIVE_INFINITY });
  });
  test('picks the targets that wait longest, and wakes up for the next target that is not due yet', () => {
    expect(dueInOrder([at(5), at(3), at(40), at(4), at(30)], 10, 2000, 2)).toEqual({
      picks: [at(3), at(4)],
      due: 3,
      wakeMs: 30,
    });
  });
  test('puts an urgent target before routine targets', () => {
    expect(picked([at(5), at(9, 1), at(4)], 10)).toEqual([at(9, 1), at(4), at(5)]);
    expect(picked([at(5), at(4), at(9, 1)], 10, 1)).toEqual([at(9, 1)]);
  });
  test('puts an urgent target in use before one that is not in use', () => {
    expect(picked([at(5, 1), at(9, 2), at(4)], 10)).toEqual([at(9, 2), at(5, 1), at(4)]);
  });
  test('puts a routine target that is late by an interval before a more urgent one', () => {
    expect(picked([at(2001, 1), at(0)], 2010)).toEqual([at(0), at(2001, 1)]);
  });

  test('picks a target that is due slightly later together with a due target, but never wakes up early for it', () => {
    const soon = at(30, 0, 20);
    expect(dueInOrder([soon, at(31, 0, 20)], 10, 2000, 100)).toEqual({ picks: [], due: 0, wakeMs: 30 });
    expect(dueInOrder([at(10), soon, at(31, 0, 20)], 10, 2000, 100)).toEqual({
      picks: [at(10), soon],
      due: 2,
      wakeMs: 31,
    });
  });

  test('picks targets exactly when one is due, the earliest deadlines first, and counts all due targets', () => {
    const due = fc.record({
      dueMs: fc.integer({ min: 0, max: 100 }),
      urgency: fc.constantFrom<Urgency>(0, 1, 2),
      slackMs: fc.integer({ min: 0, max: 20 }),
    });
    const number = fc.integer({ min: 1, max: 100 });
    fc.assert(
      fc.property(fc.array(due), number, number, (waiting, nowMs, most) => {
        const someDue = waiting.some(({ dueMs }) => dueMs <= nowMs);
        const ready = waiting.filter(({ dueMs, slackMs }) => someDue && dueMs - slackMs <= nowMs);
        const deadlines = (list: readonly Due[]) => list.map(({ dueMs, urgency }) => dueMs - urgency * 50);
        const found = dueInOrder(waiting, nowMs, 50, most);
        expect(found.due).toBe(ready.length);
        expect(deadlines(found.picks)).toEqual(
          deadlines(ready)
            .sort((a, b) => a - b)
            .slice(0, most),
        );
        const later = waiting.filter((each) => !ready.includes(each)).map(({ dueMs }) => dueMs);
        expect(found.wakeMs).toBe(Math.min(Number.POSITIVE_INFINITY, ...later));
      }),
    );
  });
});
