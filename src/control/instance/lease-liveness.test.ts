import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leaseOf } from '../objects/published-objects.ts';
import { LivenessTracker, type SeenLease, seenLease } from './lease-liveness.ts';
import type { OwnRenewals } from './lease-verdict.ts';

const lease = (
  instance: string,
  renewTime: string | null = 't0',
  more: Partial<SeenLease> = {},
): SeenLease => ({
  name: `isthmus-${instance}`,
  instance,
  holder: `${instance}/1`,
  renewTime,
  durationSeconds: 30,
  resourceVersion: '1',
  ...more,
});

/** A tracker on instance `m`, with a clock that the test moves, and with successful own renewals. */
function setup() {
  const clock = { ms: 1_000_000 };
  const start = clock.ms;
  const tracker = new LivenessTracker({ now: () => clock.ms, instance: 'm' });
  const own = (): OwnRenewals => ({ okSinceMs: start, lastRenewOkMs: clock.ms });
  const pass = (seconds: number) => {
    clock.ms += seconds * 1000;
  };
  /** Acts as the caller: reads each requested Lease from `live`. */
  const confirmAll = (live: readonly SeenLease[]) => {
    for (const name of tracker.verdict(own()).confirm)
      tracker.confirmed(name, live.find((each) => each.name === name) ?? null);
  };
  return { clock, tracker, own, pass, confirmAll };
}

describe('an instance is dead', () => {
  test('once its Lease did not change for its duration, counted from the first observation', () => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('a'), lease('b', 't0', { durationSeconds: 60 })]);
    pass(29.9);
    expect(tracker.dead(own())).toEqual([]);
    pass(0.1);
    expect(tracker.dead(own())).toEqual(['a']);
    pass(30);
    expect(tracker.dead(own())).toEqual(['a', 'b']);
  });

  test('only if it does not renew, for any clock, even one that runs backwards', () => {
    const { tracker, pass, own } = setup();
    for (const time of ['2031-01-01', '2026-01-01', '1970-01-01', '1970-01-02', null]) {
      tracker.observe([lease('a', time)]);
      pass(29);
      expect(tracker.dead(own())).toEqual([]);
    }
  });

  test('even if the renewal time in its Lease is far in the future', () => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('a', '2999-01-01T00:00:00.000000Z')]);
    pass(30);
    expect(tracker.dead(own())).toEqual(['a']);
  });

  test('even if another client edits its Lease', () => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('a')]);
    pass(20);
    tracker.observe([lease('a', 't0', { resourceVersion: '2' })]);
    pass(10);
    expect(tracker.dead(own())).toEqual(['a']);
  });

  test('unless a successor took its Lease over', () => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('a')]);
    pass(29);
    tracker.observe([lease('a', 't0', { holder: 'a/2' })]);
    pass(29);
    expect(tracker.dead(own())).toEqual([]);
  });

  test.each([
    ['without a duration', null, 30],
    ['with a duration of zero', 0, 30],
    ['with a negative duration', -5, 30],
    ['with a duration of one second, like a released Lease', 1, 5],
    ['with a duration of a year', 31_536_000, 300],
    ['with a duration that is not a number', Number.NaN, 30],
  ])('%s after a bounded time', (_title, durationSeconds, seconds) => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('a', 't0', { durationSeconds })]);
    pass(seconds - 0.1);
    expect(tracker.dead(own())).toEqual([]);
    pass(0.1);
    expect(tracker.dead(own())).toEqual(['a']);
  });

  test('if only its slices are left and it creates no Lease within the default duration', () => {
    const { tracker, pass, confirmAll, own } = setup();
    tracker.observe([], ['a', 'b', 'm']);
    pass(20);
    tracker.observe([lease('b')], ['a', 'b', 'm']);
    pass(10);
    expect(tracker.dead(own())).toEqual(['a']);
    pass(3); // b lives and comes before us
    confirmAll([]);
    expect(tracker.verdict(own()).collect).toEqual(['a']);
  });

  test('until its Lease and its slices are deleted, which also removes its entry', () => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('a')]);
    pass(60);
    tracker.observe([]);
    expect(tracker.dead(own())).toEqual([]);
    tracker.observe([lease('a')]);
    expect(tracker.dead(own())).toEqual([]);
  });

  test('but never this instance itself', () => {
    const { tracker, pass, own } = setup();
    tracker.observe([lease('m')], ['m']);
    pass(600);
    expect(tracker.dead(own())).toEqual([]);
  });
});

describe('the objects of a dead instance are deleted', () => {
  test('after its Lease was read live', () => {
    const { tracker, own, pass } = setup();
    tracker.observe([lease('z')]);
    expect(tracker.verdict(own())).toEqual({ collect: [], confirm: [], waiting: null });
    pass(30);
    expect(tracker.verdict(own())).toEqual({
      collect: [],
      confirm: ['isthmus-z'],
      waiting: { reason: expect.stringContaining('1 instance seems dead'), untilMs: expect.any(Number) },
    });
    tracker.confirmed('isthmus-z', lease('z'));
    expect(tracker.verdict(own())).toEqual({ collect: ['z'], confirm: [], waiting: null });
  });

  test('unless the live read shows a renewal that the list had missed', () => {
    const { tracker, own, pass } = setup();
    tracker.observe([lease('z')]);
    pass(30);
    tracker.confirmed('isthmus-z', lease('z', 't1'));
    expect(tracker.dead(own())).toEqual([]);
    // The list catches up: that is the same renewal, not a second one.
    pass(10);
    tracker.observe([lease('z', 't1')]);
    pass(20);
    expect(tracker.dead(own())).toEqual(['z']);
    expect(tracker.verdict(own()).collect).toEqual([]);
  });

  test('even if the list stays late: a renewal in a live read counts once', () => {
    const { tracker, own, pass } = setup();
    tracker.observe([lease('z')]);
    pass(30);
    tracker.confirmed('isthmus-z', lease('z', 't1'));
    for (let i = 0; i < 3; i += 1) {
      pass(10);
      tracker.observe([lease('z')]);
    }
    expect(tracker.dead(own())).toEqual(['z']);
    tracker.confirmed('isthmus-z', lease('z', 't1'));
    expect(tracker.verdict(own()).collect).toEqual(['z']);
  });

  test('only after a recent live read: an old one is repeated', () => {
    const { tracker, own, pass } = setup();
    tracker.observe([lease('z')]);
    pass(30);
    tracker.confirmed('isthmus-z', lease('z'));
    pass(10.1);
    expect(tracker.verdict(own())).toMatchObject({ collect: [], confirm: ['isthmus-z'] });
  });

  test('also if its Lease is deleted', () => {
    const { tracker, own, pass } = setup();
    tracker.observe([lease('z')]);
    pass(30);
    tracker.confirmed('isthmus-z', null);
    expect(tracker.verdict(own()).collect).toEqual(['z']);
  });

  test('by the first live instance by name, and by each next one three seconds later', () => {
    const { clock, tracker, own, pass } = setup();
    const living = (time: string) => [lease('a', time), lease('b', time), lease('n', time)];
    tracker.observe([...living('t0'), lease('aa')]);
    pass(20);
    tracker.observe([...living('t1'), lease('aa')]);
    pass(10);
    // a and b are alive and come before m; aa is dead and does not count; n comes after m.
    expect(tracker.verdict(own())).toEqual({
      collect: [],
      confirm: [],
      waiting: {
        reason: '1 instance dead; 2 instances before this one may delete its objects first',
        untilMs: clock.ms + 6000,
      },
    });
    pass(6);
    expect(tracker.verdict(own()).confirm).toEqual(['isthmus-aa']);
  });

  test('never while our own Lease is not renewed', () => {
    const { clock, tracker, pass } = setup();
    tracker.observe([lease('z')]);
    pass(30);
    tracker.confirmed('isthmus-z', lease('z'));
    for (const own of [
      { okSinceMs: 0, lastRenewOkMs: null },
      { okSinceMs: 0, lastRenewOkMs: clock.ms - 25_001 },
    ])
      expect(tracker.verdict(own)).toMatchObject({
        collect: [],
        confirm: [],
        waiting: { reason: expect.stringContaining('our own Lease is not renewed') },
      });
  });

  test('only some time after an API outage, in which no Lease was renewed', () => {
    const { clock, tracker, pass } = setup();
    tracker.observe([lease('z')]);
    pass(300);
    expect(tracker.dead({ okSinceMs: null, lastRenewOkMs: 0 })).toEqual([]);
    const own = { okSinceMs: clock.ms, lastRenewOkMs: clock.ms };
    expect(tracker.verdict(own)).toEqual({ collect: [], confirm: [], waiting: null });
    expect(tracker.nextExpiryMs(own)).toBe(clock.ms + 30_000);
    pass(29.9);
    expect(tracker.dead(own)).toEqual([]);
    pass(0.1);
    expect(tracker.dead(own)).toEqual(['z']);
    expect(tracker.nextExpiryMs(own)).toBeNull();
  });

  test('with a bounded number of live reads at once', () => {
    const { tracker, own, pass } = setup();
    const dead = Array.from({ length: 30 }, (_, i) => lease(`z${i}`));
    const living = (time: string) => Array.from({ length: 40 }, (_, i) => lease(`y${i}`, time));
    tracker.observe([...living('t0'), ...dead]);
    pass(20);
    tracker.observe([...living('t1'), ...dead]);
    pass(10);
    expect(tracker.verdict(own()).confirm).toHaveLength(16);
  });
});

describe('when more than half of the others, and at least three, expire together', () => {
  const dead = ['w', 'x', 'y'].map((name) => lease(name));

  test('their objects stay until renewals and live reads have succeeded for a minute', () => {
    const { tracker, own, pass, confirmAll } = setup();
    tracker.observe([...dead, lease('z'), lease('zz')]);
    pass(20);
    tracker.observe([...dead, lease('z', 't1'), lease('zz', 't1')]);
    pass(10);
    expect(tracker.verdict(own())).toMatchObject({
      collect: [],
      confirm: ['isthmus-w', 'isthmus-x', 'isthmus-y'],
      waiting: { reason: expect.stringContaining('3 of 5 instances stopped renewing together') },
    });
    for (let i = 0; i < 6; i += 1) {
      confirmAll(dead);
      expect(tracker.verdict(own()).collect).toEqual([]);
      pass(10.5);
      tracker.observe([...dead, lease('z', `u${i}`), lease('zz', `u${i}`)]);
    }
    confirmAll(dead);
    expect(tracker.verdict(own())).toEqual({ collect: ['w', 'x', 'y'], confirm: [], waiting: null });
  });

  test('they count as alive if the live reads show renewals', () => {
    const { tracker, own, pass, confirmAll } = setup();
    tracker.observe(dead);
    pass(30);
    confirmAll(dead.map(({ instance }) => lease(instance, 't9')));
    expect(tracker.dead(own())).toEqual([]);
    expect(tracker.verdict(own())).toEqual({ collect: [], confirm: [], waiting: null });
  });

  test.each([
    ['our renewals fail meanwhile', 'renewals'],
    ['the live reads fail meanwhile', 'reads'],
  ])('the minute starts again when %s', (_title, what) => {
    const { clock, tracker, pass } = setup();
    tracker.observe(dead);
    pass(30);
    let okSinceMs = 0;
    let lastRenewOkMs = 0;
    const collectedAt: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      const broken = i >= 3 && i < 6;
      if (broken && what === 'renewals') okSinceMs = clock.ms + 10_000;
      else lastRenewOkMs = clock.ms;
      const { confirm } = tracker.verdict({ okSinceMs, lastRenewOkMs });
      if (!(broken && what === 'reads'))
        for (const name of confirm) tracker.confirmed(name, lease(name.slice(8)));
      if (tracker.verdict({ okSinceMs, lastRenewOkMs }).collect.length > 0) collectedAt.push(i);
      pass(10.5);
    }
    // Six turns are a minute, counted from the seventh turn.
    expect(collectedAt[0]).toBeGreaterThanOrEqual(11);
    expect(collectedAt[0]).toBeLessThanOrEqual(18);
  });

  test.each([
    ['exactly half of the others', 3, 3],
    ['all others, which are only two', 2, 0],
  ])(
    'the rule does not cover %s: the objects of each are deleted separately',
    (_title, deadCount, livingCount) => {
      const { tracker, own, pass, confirmAll } = setup();
      const gone = dead.slice(0, deadCount);
      const living = (time: string) => Array.from({ length: livingCount }, (_, i) => lease(`z${i}`, time));
      tracker.observe([...gone, ...living('t0')]);
      pass(20);
      tracker.observe([...gone, ...living('t1')]);
      pass(10);
      confirmAll(gone);
      expect(tracker.verdict(own()).collect).toEqual(gone.map(({ instance }) => instance));
    },
  );
});

test('the objects of an instance stay while it renews in time, and are deleted after it has stopped', () => {
  const step = fc.record({
    seconds: fc.integer({ min: 1, max: 9 }),
    lateList: fc.boolean(),
    readsFail: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'x', 'y', 'z'), { minLength: 1 }),
      fc.nat(6),
      fc.array(step, { minLength: 5, maxLength: 60 }),
      (names, stopping, steps) => {
        const { clock, tracker, own, pass } = setup();
        const stopped = names.slice(0, stopping) as string[];
        let renewals = 0;
        const truth = () =>
          names.map((name) => lease(name, stopped.includes(name) ? 'last' : `skewed ${name} ${renewals}`));
        tracker.observe(truth());
        const turn = (fail: boolean) => {
          const { collect, confirm, waiting } = tracker.verdict(own());
          expect(collect.filter((name) => !stopped.includes(name))).toEqual([]);
          if (waiting !== null) expect(waiting.untilMs).toBeGreaterThan(clock.ms);
          if (!fail)
            for (const name of confirm)
              tracker.confirmed(name, truth().find((each) => each.name === name) ?? null);
          return collect;
        };
        for (const { seconds, lateList, readsFail } of steps) {
          pass(seconds);
          renewals += 1;
          if (!lateList) tracker.observe(truth());
          turn(readsFail);
        }
        const collected = new Set<string>();
        for (let i = 0; i < 30; i += 1) {
          pass(5);
          renewals += 1;
          tracker.observe(truth());
          for (const name of turn(false)) collected.add(name);
        }
        expect([...collected].sort()).toEqual([...stopped].sort());
      },
    ),
    { numRuns: 200 },
  );
});

describe('a Lease of the API', () => {
  const object = leaseOf({
    instance: 'net-1',
    namespace: 'magnum-system',
    holder: 'net-1/5f3a',
    host: '',
    acquiredAtMs: 0,
    renewedAtMs: 1,
    transitions: 0,
    tags: {},
  });

  test('is read into its instance, holder, times and version', () => {
    expect(seenLease({ ...object, metadata: { ...object.metadata, resourceVersion: '7' } })).toEqual({
      name: 'isthmus-net-1',
      instance: 'net-1',
      holder: 'net-1/5f3a',
      renewTime: '1970-01-01T00:00:00.001000Z',
      durationSeconds: 30,
      resourceVersion: '7',
    });
  });

  test.each([
    ['of another program', {}],
    ['whose name does not contain its instance', { metadata: { ...object.metadata, name: 'isthmus-net-2' } }],
  ])('%s is not ours', (_title, change) => {
    expect(seenLease(Object.keys(change).length === 0 ? {} : { ...object, ...change })).toBeNull();
  });

  test('without a spec has null fields', () => {
    expect(seenLease({ metadata: object.metadata! })).toMatchObject({
      holder: null,
      renewTime: null,
      durationSeconds: null,
      resourceVersion: '',
    });
  });
});
