// The tables of a report say what a number is worth: what was disturbed is marked, and what is no merit of a peer has no ratio.
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

test('how late the generator itself was is a row of the latencies, without a ratio', () => {
  expect(shown(round())).toContain('| how late the generator itself was, p99, µs | 7.00 | 7.00 | 7.00 |');
});

test('a number that disturbed rounds are in is marked, and the mark is explained', () => {
  const text = shown(round('nginx'), round('nginx'), round());
  expect(text).toContain('p50, µs | 100 = **1.00** [1.00, 1.00] | 100 | ~100 = ~**1.00** [1.00, 1.00] |');
  expect(text).toContain('~: more than half');
});

test('a ratio is as disturbed as its other side', () => {
  expect(shown(round('haproxy'))).toContain('p50, µs | 100 = ~**1.00** [1.00, 1.00] | ~100 |');
});

test('rounds that stayed disturbed do not count while the others are half, and nothing is marked', () => {
  expect(shown(round('nginx'), round(), round())).not.toContain('~');
});
