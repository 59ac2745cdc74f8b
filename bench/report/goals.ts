// The goals of the project, as data. A goal is judged by the median; one that was not measured is said to be so.
import type { ScenarioResult } from '../harness/runner.ts';
import { type Spread, spread } from '../harness/statistics.ts';
import type { Metric, Scenario } from '../scenarios/scenario.ts';
import { BASELINE, OTHER_BASELINES, quietRounds, ratioTo, valuesOf } from './ratios.ts';

const OURS = 'isthmus-native';

interface Goal {
  readonly title: string;
  readonly scenario: string;
  readonly metric: string;
  readonly must: number;
  readonly aim: number;
  /** `ratio` to HAProxy, above 1 better; `most`: the value itself, at most; `least`: at least; `self`: 1000 netns to 1. */
  readonly kind: 'ratio' | 'most' | 'least' | 'self';
}

const ratio = (title: string, scenario: string, metric: string, must: number, aim: number): Goal => ({
  title,
  scenario,
  metric,
  must,
  aim,
  kind: 'ratio',
});

export const GOALS: readonly Goal[] = [
  ratio('new connections/s', 'new-connections', 'perSecond', 1.05, 1.25),
  ratio('connect→first byte p50 at half of HAProxy’s maximum', 'latency', 'p50', 1.0, 1.1),
  ratio('connect→first byte p99 at half of HAProxy’s maximum', 'latency', 'p99', 0.9, 1.1),
  ratio('small requests/s', 'requests', 'perSecond', 1.1, 1.2),
  ratio('bulk down, 16 connections', 'bulk', 'down16', 1.2, 1.5),
  ratio('bulk up, 16 connections', 'bulk', 'up16', 1.2, 1.5),
  ratio('bulk down at MTU-sized segments', 'bulk-mtu', 'down16', 1.0, 1.2),
  ratio('bulk up at MTU-sized segments', 'bulk-mtu', 'up16', 1.0, 1.2),
  ratio('KB per idle connection (HAProxy ÷ ours)', 'idle-memory', 'pss9000', 1 / 0.3, 1 / 0.05),
  {
    title: 'MB resident above a bare Node',
    scenario: 'baseline-memory',
    metric: 'above',
    must: 20,
    aim: 10,
    kind: 'most',
  },
  {
    title: '1000 namespaces against 1, new connections/s',
    scenario: 'namespaces',
    metric: 'perSecond',
    must: 0.95,
    aim: 1,
    kind: 'self',
  },
  {
    title: 'established connections broken by route changes',
    scenario: 'churn',
    metric: 'broken',
    must: 0,
    aim: 0,
    kind: 'most',
  },
  {
    title: 'throughput of established connections while routes change',
    scenario: 'churn',
    metric: 'requests',
    must: 0.98,
    aim: 1,
    kind: 'least',
  },
];

export interface Verdict {
  readonly title: string;
  readonly kind: Goal['kind'];
  readonly must: number;
  readonly aim: number;
  readonly measured: Spread | null;
  /** The same against that HAProxy which did best here, whatever its settings: not what is judged, but what a sceptic asks for. */
  readonly againstBest: { readonly peer: string; readonly ratio: Spread } | null;
  readonly verdict: 'aim' | 'must' | 'missed' | 'disturbed' | 'not measured';
  /** How much is missing, as a share of the goal. */
  readonly missedBy: number;
}

const metricOf = (scenario: Scenario, wanted: string): Metric =>
  scenario.metrics.find(({ name }) => name === wanted)!;

function measuredFor(goal: Goal, result: ScenarioResult, scenario: Scenario): Spread {
  const metric = metricOf(scenario, goal.metric);
  switch (goal.kind) {
    case 'ratio':
      return ratioTo(result, OURS, BASELINE, metric);
    case 'self':
      return ratioTo(result, `${OURS}@1000`, `${OURS}@1`, metric);
    case 'most':
    case 'least':
      return spread(valuesOf(result, OURS, goal.metric));
  }
}

function bestRival(result: ScenarioResult, metric: Metric): Verdict['againstBest'] {
  return [BASELINE, ...OTHER_BASELINES]
    .map((peer) => ({ peer, ratio: ratioTo(result, OURS, peer, metric) }))
    .filter(({ ratio }) => ratio.count > 0)
    .reduce<Verdict['againstBest']>(
      (best, each) => (best === null || each.ratio.median < best.ratio.median ? each : best),
      null,
    );
}

/** Whose measurements decide. Scheduling shares under foreign load say nothing: more threads would simply win. */
function comparedIn({ kind }: Goal): string[] {
  if (kind === 'ratio') return [OURS, BASELINE];
  return kind === 'self' ? [`${OURS}@1000`, `${OURS}@1`] : [OURS];
}

export function verdicts(results: readonly ScenarioResult[], scenarios: readonly Scenario[]): Verdict[] {
  return GOALS.map((goal) => {
    const { title, kind, must, aim } = goal;
    const result = results.find(({ name }) => name === goal.scenario);
    const scenario = scenarios.find(({ name }) => name === goal.scenario);
    const measured =
      result === undefined || scenario === undefined ? null : measuredFor(goal, result, scenario);
    if (measured === null || Number.isNaN(measured.median))
      return {
        title,
        kind,
        must,
        aim,
        measured: null,
        againstBest: null,
        verdict: 'not measured',
        missedBy: 0,
      };
    const meets = (limit: number): boolean =>
      kind === 'most' ? measured.median <= limit : measured.median >= limit;
    const isQuiet = 2 * quietRounds(result!, ...comparedIn(goal)).length >= result!.rounds.length;
    const verdict = !isQuiet ? 'disturbed' : meets(aim) ? 'aim' : meets(must) ? 'must' : 'missed';
    const missedBy = verdict === 'missed' ? Math.abs(measured.median - must) / (must || 1) : 0;
    const againstBest = kind === 'ratio' ? bestRival(result!, metricOf(scenario!, goal.metric)) : null;
    return { title, kind, must, aim, measured, againstBest, verdict, missedBy };
  });
}
