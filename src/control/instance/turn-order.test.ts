// The order in which instances act on shared writes, and the times at which a later instance takes over.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leaseName } from '../objects/instance-name.ts';
import { byText } from '../objects/text-order.ts';
import {
  DEAD_INSTANCE,
  earliest,
  firstOf,
  isFirst,
  KUBECONFIG,
  LISTENER_STATUS,
  mayAct,
  ORPHAN,
  type Pace,
  rankAmong,
  turnAtMs,
} from './turn-order.ts';

const instances = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?$/), { minLength: 1 });

describe('the order of instances', () => {
  test('gives each instance a different rank, for any order of the input', () => {
    fc.assert(
      fc.property(instances, (names) => {
        const ranks = names.map((name) => rankAmong(name, names)).sort((a, b) => a - b);
        expect(ranks).toEqual(names.map((_, place) => place));
      }),
    );
  });

  test('is the order of the Lease names', () => {
    fc.assert(
      fc.property(instances, (names) => {
        const byLease = [...names].sort((a, b) => byText(leaseName(a), leaseName(b)));
        expect(byLease.map((name) => rankAmong(name, names))).toEqual(byLease.map((_, place) => place));
      }),
    );
  });

  test('begins with the instance of rank 0', () => {
    fc.assert(
      fc.property(instances, (names) => {
        expect(rankAmong(firstOf(names) as string, names)).toBe(0);
      }),
    );
    expect(firstOf([])).toBeNull();
  });

  test('ranks an instance that is not in the list by the instances before it', () => {
    expect(rankAmong('net-2', ['net-3', 'net-1'])).toBe(1);
    expect(rankAmong('net-2', [])).toBe(0);
  });

  test('makes only the instance of rank 0 the first', () => {
    expect([0, 1, 2].map((rank) => isFirst({ rank }))).toEqual([true, false, false]);
  });
});

describe('the turn of an instance', () => {
  const rows: readonly [name: string, pace: Pace, first: number, second: number, hundredth: number][] = [
    ['collects a dead instance at once, then every 3 s', DEAD_INSTANCE, 0, 3000, 297_000],
    ['collects an orphan after 1 s, then every 3 s', ORPHAN, 1000, 4000, 298_000],
    ['writes a kubeconfig at once, then every 10 s', KUBECONFIG, 0, 10_000, 990_000],
    ['writes a status at once, then every 200 ms, at most 4 s later', LISTENER_STATUS, 0, 200, 4000],
  ];
  test.each(rows)('%s', (_, pace, ...waits) => {
    expect([0, 1, 99].map((rank) => turnAtMs(pace, rank, 5000) - 5000)).toEqual(waits);
  });
});

test.each([
  { holder: true, started: true, acts: true },
  { holder: false, started: true, acts: false },
  { holder: true, started: false, acts: false },
])('a process with holder $holder and started $started acts: $acts', ({ holder, started, acts }) => {
  expect(mayAct({ holder, started })).toBe(acts);
});

test('the earliest of several times ignores those that never come', () => {
  expect(earliest(null, 5, 3, null)).toBe(3);
  expect(earliest(0, null)).toBe(0);
  expect(earliest(null, null)).toBeNull();
  expect(earliest()).toBeNull();
});
