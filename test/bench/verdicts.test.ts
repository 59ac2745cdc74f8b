// A requested goal is met, missed, not judged or failed, and the report shows which. No goal passes because a result is missing.
import { describe, expect, test } from 'vitest';
import type { Round, ScenarioResult } from '../../bench/harness/runner.ts';
import { checkOf } from '../../bench/report/check.ts';
import { goalSection, goalSummary } from '../../bench/report/goal-table.ts';
import { type GoalVerdict, verdicts } from '../../bench/report/verdicts.ts';
import { SCENARIOS } from '../../bench/scenarios/all.ts';

type Values = Readonly<Record<string, number>>;

const round = (perSecond: Values, disturbed: readonly string[] = []): Round => ({
  measurements: Object.fromEntries(
    Object.entries(perSecond).map(([name, value]) => [name, { values: { perSecond: value } }]),
  ),
  disturbance: { steal: 0, foreign: 0 },
  disturbed,
});

const result = (
  name: string,
  rounds: readonly Round[],
  failures: Readonly<Record<string, string>> = {},
): ScenarioResult => ({ name, rounds, repeated: 0, failures, facts: {} });

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const judged = (one: ScenarioResult, absent?: ReadonlyMap<string, string>): GoalVerdict =>
  verdicts([one], SCENARIOS, absent).find(
    ({ title }) =>
      title ===
      (one.name === 'requests' ? 'small requests/s' : '1000 namespaces against 1, new connections/s'),
  )!;

const BOTH = round({ 'isthmus-native': 130, haproxy: 100 });
const ALONE = round({ haproxy: 100 });
const OURS_ALONE = round({ 'isthmus-native': 130 });
const LOUD = round({ 'isthmus-native': 130, haproxy: 100 }, ['haproxy']);

describe('a goal', () => {
  test.each<[string, ScenarioResult, GoalVerdict['verdict'], string | null]>([
    ['reaches its aim', result('requests', times(5, BOTH)), 'aim', null],
    [
      'is missed by the median',
      result('requests', times(5, round({ 'isthmus-native': 105, haproxy: 100 }))),
      'missed',
      null,
    ],
    ['is not judged on a disturbed machine', result('requests', times(5, LOUD)), 'disturbed', null],
    [
      'is judged by the quiet rounds when they are half of all',
      result('requests', [...times(2, BOTH), ...times(2, LOUD)]),
      'aim',
      null,
    ],
    [
      'fails when the native engine failed after a good round',
      result('requests', [BOTH, ...times(4, ALONE)], { 'isthmus-native': '64 kept connections broke' }),
      'failed',
      'isthmus-native: 64 kept connections broke',
    ],
    [
      'fails when the native engine failed in the last of many rounds',
      result('requests', [...times(10, BOTH), ALONE], { 'isthmus-native': 'it crashed' }),
      'failed',
      'isthmus-native: it crashed',
    ],
    [
      'fails when its reference HAProxy failed',
      result('requests', [BOTH, ...times(4, OURS_ALONE)], { haproxy: 'it crashed' }),
      'failed',
      'haproxy: it crashed',
    ],
    [
      'does not change when another peer fails',
      result('requests', times(5, BOTH), { nginx: 'it crashed' }),
      'aim',
      null,
    ],
    [
      'fails when fewer than half of the rounds measured both sides',
      result('requests', [BOTH, BOTH, ALONE, OURS_ALONE, ALONE]),
      'failed',
      'isthmus-native and haproxy: measured in 2 of 5 rounds',
    ],
    [
      'fails when no peer was measured',
      result('requests', times(5, round({}))),
      'failed',
      'isthmus-native and haproxy: measured in 0 of 5 rounds',
    ],
    [
      'fails when HAProxy served nothing: an infinite ratio is no result',
      result('requests', times(5, round({ 'isthmus-native': 130, haproxy: 0 }))),
      'failed',
      'isthmus-native and haproxy: not a number',
    ],
    [
      'of Isthmus against itself fails when one of the two did not start',
      result('namespaces', times(5, round({ 'isthmus-native@1': 100 })), {
        'isthmus-native@1000': 'not ready after 90 s',
      }),
      'failed',
      'isthmus-native@1000: not ready after 90 s',
    ],
  ])('%s', (_, one, verdict, reason) => {
    expect(judged(one)).toMatchObject({ verdict, reason });
  });

  test('fails with the reason when the native engine never started', () => {
    const absent = new Map([['isthmus-native', 'ended with 1: no addon']]);
    expect(judged(result('requests', times(5, ALONE)), absent)).toMatchObject({
      verdict: 'failed',
      reason: 'isthmus-native: ended with 1: no addon',
    });
  });

  test('is not measured only if its scenario was not requested', () => {
    expect(verdicts([], SCENARIOS).every(({ verdict }) => verdict === 'not measured')).toBe(true);
    const asked = SCENARIOS.map(({ name }) => result(name, times(5, round({}))));
    expect(verdicts(asked, SCENARIOS).every(({ verdict }) => verdict === 'failed')).toBe(true);
  });
});

describe('the best HAProxy', () => {
  const against = (others: Values): GoalVerdict =>
    judged(result('requests', times(5, round({ 'isthmus-native': 130, haproxy: 100, ...others }))));

  test('is one of all participants, including those of --haproxy', () => {
    expect(against({ 'haproxy-pipes': 110, 'haproxy-2': 131, nginx: 200 }).againstBest).toMatchObject({
      peer: 'haproxy-2',
      of: 3,
      ratio: { median: 130 / 131 },
    });
  });

  test('is named in the verdict if the goal is missed against it', () => {
    expect(goalSection([against({ 'haproxy-pipes': 131 })])).toContain(
      '| reaches the aim; not against haproxy-pipes (0.99) |',
    );
    expect(goalSection([against({ 'haproxy-pipes': 110 })])).toContain('| reaches the aim |');
    const missed = round({ 'isthmus-native': 105, haproxy: 100, 'haproxy-pipes': 110 });
    expect(goalSection([judged(result('requests', times(5, missed)))])).toContain(
      '| missed by 4.55 %; against haproxy-pipes (0.95) by 13.2 % |',
    );
  });

  test('has its own count of missed goals below the table', () => {
    const missed = against({ haproxy: 200, 'haproxy-pipes': 100 });
    const onlyAgainstBest = against({ 'haproxy-pipes': 131 });
    expect(goalSummary([missed, onlyAgainstBest, against({})])).toBe(
      '1 of 3 goals missed; against the best of 2 HAProxy configurations 2.',
    );
    expect(
      goalSummary([missed, judged(result('requests', [])), ...verdicts([], SCENARIOS).slice(0, 2)]),
    ).toBe('1 of 4 goals missed, 1 failed, 2 not measured; against the best of 2 HAProxy configurations 1.');
  });
});

describe('--check', () => {
  const passes = (one: ScenarioResult): boolean => checkOf([judged(one)], []).passes;

  test('passes when all requested goals are met', () => {
    expect(passes(result('requests', times(5, BOTH)))).toBe(true);
    expect(checkOf(verdicts([], SCENARIOS), [])).toEqual({ lines: [], passes: true });
  });

  test.each<[string, ScenarioResult, RegExp]>([
    [
      'is missed',
      result('requests', times(5, round({ 'isthmus-native': 99, haproxy: 100 }))),
      /^MISSED small requests\/s: 0\.990, goal 1\.10, by 10\.0 %$/,
    ],
    ['is not judged', result('requests', times(5, LOUD)), /^NOT JUDGED small requests\/s/],
    [
      'failed',
      result('requests', times(5, ALONE), { 'isthmus-native': 'it crashed' }),
      /^FAILED small requests\/s: isthmus-native: it crashed$/,
    ],
  ])('does not pass when a goal %s, and says so', (_, one, line) => {
    const check = checkOf([judged(one)], []);
    expect(check.passes).toBe(false);
    expect(check.lines).toEqual([expect.stringMatching(line)]);
  });

  test('does not pass when the native engine is incorrect, and only reports an incorrect streams engine', () => {
    const incorrect = (peer: string) => checkOf([], [{ peer, cases: [], disqualified: 'integrity: stuck' }]);
    expect(incorrect('isthmus-native')).toEqual({
      lines: ['INCORRECT isthmus-native: integrity: stuck'],
      passes: false,
    });
    expect(incorrect('isthmus-streams')).toEqual({
      lines: ['INCORRECT isthmus-streams: integrity: stuck'],
      passes: true,
    });
    expect(incorrect('sniproxy')).toEqual({ lines: [], passes: true });
  });
});

describe('established connections broken by route changes', () => {
  const churn = (broken: number, disturbed: readonly string[] = []): Round => ({
    measurements: { 'isthmus-native': { values: { broken, requests: 0.99, connections: 1 } } },
    disturbance: { steal: 0, foreign: 0 },
    disturbed,
  });
  test.each<[title: string, rounds: readonly Round[], verdict: GoalVerdict['verdict']]>([
    ['reach the aim if no round has one', times(5, churn(0)), 'aim'],
    [
      'miss the goal if one round of five has some, at any median',
      [churn(64), ...times(4, churn(0))],
      'missed',
    ],
    [
      'miss the goal also in a disturbed round',
      [churn(1, ['isthmus-native']), ...times(4, churn(0))],
      'missed',
    ],
    ['reach the aim without one on a disturbed machine too', times(5, churn(0, ['isthmus-native'])), 'aim'],
  ])('%s', (_title, rounds, verdict) => {
    const judgedGoals = verdicts([result('churn', rounds)], SCENARIOS);
    expect(judgedGoals.find(({ title }) => title.startsWith('established connections'))?.verdict).toBe(
      verdict,
    );
  });
});
