// The tables of a report show how reliable a number is: disturbed numbers have a mark. Only numbers that depend on a peer have a ratio.
import { expect, test } from 'vitest';
import type { Round, ScenarioResult } from '../../bench/harness/runner.ts';
import { markdown } from '../../bench/report/markdown.ts';
import type { Report } from '../../bench/report/report.ts';

const values = { p50: 100, p99: 200, p999: 300, cpu: 1, lag99: 7 };
const round = (...disturbed: string[]): Round => ({
  measurements: { haproxy: { values }, nginx: { values }, envoy: { values } },
  disturbance: { steal: 0, foreign: 0 },
  disturbed,
});
const shown = (...rounds: Round[]): string => {
  const result: ScenarioResult = { name: 'latency', rounds, repeated: 0, failures: {}, facts: {} };
  const machine = { date: '', commit: '', loadAverage: [], settings: {}, stealSinceBoot: 0 };
  return markdown({
    machine,
    rounds: rounds.length,
    seconds: 1,
    peers: [],
    correctness: [],
    results: [result],
    goals: [],
  } as unknown as Report);
};

test('the latency table has a row without ratios for the delay of the generator', () => {
  expect(shown(round())).toContain('| how late the generator itself was, p99, µs | 7.00 | 7.00 | 7.00 |');
});

test('a number from disturbed rounds has a mark, and the report explains the mark', () => {
  const text = shown(round('nginx'), round('nginx'), round());
  expect(text).toContain('p50, µs | 100 = **1.00** [1.00, 1.00] | 100 | ~100 = ~**1.00** [1.00, 1.00] |');
  expect(text).toContain('~: more than half');
});

test('a ratio has a mark if the other side was disturbed', () => {
  expect(shown(round('haproxy'))).toContain('p50, µs | 100 = ~**1.00** [1.00, 1.00] | ~100 |');
});

test('disturbed rounds do not count if at least half of the rounds were quiet, and no number has a mark', () => {
  expect(shown(round('nginx'), round(), round())).not.toContain('~');
});
