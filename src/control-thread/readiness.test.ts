import { expect, test } from 'vitest';
import type { ReadyCheck } from '../control/objects/ready-check.ts';
import { Readiness } from './readiness.ts';

const FIRST_CHECKS = 'not every backend was checked yet';

function harness(...failures: (string | null)[]) {
  const state = { failures, served: [] as ReadyCheck[], later: [] as ReadyCheck[], able: false };
  const reports: (readonly ReadyCheck[])[] = [];
  const readiness = new Readiness({
    lists: () => state.failures.map((failure, index) => ({ name: `list-${index}`, failure })),
    served: () => state.served,
    later: () => state.later,
    onChange: (checks, able) => {
      reports.push(checks);
      state.able = able;
    },
  });
  let listed = false;
  void readiness.listed.then(() => {
    listed = true;
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { readiness, state, reports, settle, isListed: () => listed };
}

const failuresOf = (checks: readonly ReadyCheck[] | undefined) => checks?.map(({ failure }) => failure);

test('a check is reported when it passes, and the lists count as read with the last list', async () => {
  const { readiness, state, reports, settle, isListed } = harness('forbidden', 'not listed yet');
  readiness.look();
  expect(failuresOf(reports.at(-1))).toEqual(['forbidden', 'not listed yet', FIRST_CHECKS]);
  state.failures = ['forbidden', null];
  readiness.look();
  await settle();
  expect(failuresOf(reports.at(-1))).toEqual(['forbidden', null, FIRST_CHECKS]);
  expect(isListed()).toBe(false);
  state.failures = [null, null];
  readiness.look();
  await settle();
  expect(isListed()).toBe(true);
  readiness.probed();
  expect(failuresOf(reports.at(-1))).toEqual([null, null, null]);
});

test('a check that passed does not fail again, before or after the others pass', () => {
  const { readiness, state, reports } = harness(null, 'not listed yet');
  readiness.look();
  state.failures = ['unreachable', null];
  readiness.look();
  readiness.probed();
  expect(failuresOf(reports.at(-1))).toEqual([null, null, null]);
  const { length } = reports;
  state.failures = ['unreachable', 'unreachable'];
  readiness.look();
  expect(reports).toHaveLength(length);
});

test('only changes are reported', () => {
  const { readiness, state, reports } = harness('unreachable');
  for (let turn = 0; turn < 3; turn += 1) readiness.look();
  expect(reports).toHaveLength(1);
  state.failures = ['forbidden'];
  readiness.look();
  expect(reports).toHaveLength(2);
});

test('a failing later check leaves the process able, but not ready', () => {
  const { readiness, state, reports } = harness(null);
  state.later = [{ name: 'lease', failure: 'not held yet' }];
  readiness.look();
  expect(state.able).toBe(false);
  readiness.probed();
  expect(state.able).toBe(true);
  expect(failuresOf(reports.at(-1))).toEqual([null, null, 'not held yet']);
  state.later = [{ name: 'lease', failure: null }];
  readiness.look();
  expect(failuresOf(reports.at(-1))).toEqual([null, null, null]);
});

test('served clusters count only after the first health checks, and the process is not able before', () => {
  const { readiness, state, reports } = harness(null);
  state.served = [{ name: 'published-clusters', failure: null }];
  readiness.look();
  expect(failuresOf(reports.at(-1))).toEqual([null, FIRST_CHECKS, FIRST_CHECKS]);
  state.served = [{ name: 'published-clusters', failure: 'reaches none of them' }];
  readiness.probed();
  expect(failuresOf(reports.at(-1))).toEqual([null, null, 'reaches none of them']);
  expect(state.able).toBe(false);
  state.served = [{ name: 'published-clusters', failure: null }];
  readiness.look();
  expect(failuresOf(reports.at(-1))).toEqual([null, null, null]);
  expect(state.able).toBe(true);
});
