// The README shows the result of the last complete run between two marks.
import { describe, expect, test } from 'vitest';
import { PEER_NAMES } from '../../bench/harness/options.ts';
import { readmeWith } from '../../bench/report/readme.ts';
import type { Report } from '../../bench/report/report.ts';
import type { GoalVerdict } from '../../bench/report/verdicts.ts';
import { type Extent, partialBecause } from '../../bench/report/whole.ts';

const README = 'before\n<!-- bench: written by npm run bench -->\nold\n<!-- bench: end -->\nafter\n';

const report = {
  machine: { date: '2026-11-16T08:58:00.936Z', commit: 'abc', cores: 2, cpu: 'a CPU', kernel: '6.18' },
  rounds: 5,
  seconds: 1,
} as unknown as Report;

test('the text between the marks is replaced, and the rest stays', () => {
  const shown = readmeWith(README, report, '| new |')!;
  expect(shown.startsWith('before\n')).toBe(true);
  expect(shown.endsWith('<!-- bench: end -->\nafter\n')).toBe(true);
  expect(shown).toContain('| new |\n\n2026-11-16, 5 rounds × 1 s, commit abc');
  expect(shown).not.toContain('old');
  expect(readmeWith(shown, report, '| new |')).toBe(shown);
});

test('a README without the marks stays as it is', () => {
  expect(readmeWith('no marks', report, '| new |')).toBeNull();
});

describe('a run', () => {
  const goal = (verdict: GoalVerdict['verdict']) => ({ title: 'a goal', verdict }) as GoalVerdict;
  const peer = (name: string, problem: string | null = null) => ({
    name,
    version: '1',
    entersNetns: true,
    problem,
  });
  const peers = PEER_NAMES.map((name) => peer(name));
  const whole: Extent = {
    rounds: 5,
    seconds: 1,
    peers,
    goals: [goal('aim'), goal('missed'), goal('disturbed')],
  };

  test.each<[string, Partial<Extent>, string | null]>([
    ['with the default options is complete, also with missed goals', {}, null],
    [
      'with more and longer rounds and one more HAProxy is complete',
      { rounds: 11, seconds: 2, peers: [...peers, peer('haproxy-2')] },
      null,
    ],
    [
      'without the scenario of a goal is not complete',
      { goals: [goal('aim'), goal('not measured')] },
      "'a goal' was not measured",
    ],
    ['in which a goal failed is not complete', { goals: [goal('failed')] }, "'a goal' failed"],
    ['with fewer rounds is not complete', { rounds: 3 }, 'fewer than 5 rounds'],
    ['with shorter rounds is not complete', { seconds: 0.6 }, 'rounds of less than 1 s'],
    ['without a peer is not complete', { peers: peers.slice(0, -1) }, 'envoy took no part'],
    [
      'with a peer that could not be installed is not complete',
      { peers: [...peers.slice(0, -1), peer('envoy', 'no wheel')] },
      'envoy took no part, or not in everything',
    ],
  ])('%s', (_, differs, reason) => {
    expect(partialBecause({ ...whole, ...differs })).toBe(reason);
  });
});
