// Judges the goals by the median of the measurements. If a requested scenario gave no number, or too few, its goals fail. An engine
// that crashes or does not start must never pass.
import type { ScenarioResult } from '../harness/runner.ts';
import { type Spread, spread } from '../harness/statistics.ts';
import type { BenchMetric, Scenario } from '../scenarios/scenario.ts';
import { GOALS, type Goal } from './goals.ts';
import {
  allValuesOf,
  BASELINE,
  isQuiet,
  measuredRounds,
  participantsIn,
  ratioTo,
  valuesOf,
} from './ratios.ts';

export const OURS = 'isthmus-native';

export interface GoalVerdict {
  readonly title: string;
  readonly kind: Goal['kind'];
  readonly must: number;
  readonly aim: number;
  readonly measured: Spread | null;
  /** The ratio to the best of `of` HAProxy configurations. It does not decide the verdict, but it answers a sceptical reader. */
  readonly againstBest: { readonly peer: string; readonly ratio: Spread; readonly of: number } | null;
  /** `not measured` means that the run did not include the scenario. */
  readonly verdict: 'aim' | 'must' | 'missed' | 'disturbed' | 'failed' | 'not measured';
  /** The distance to the goal, as a share of the goal. */
  readonly missedBy: number;
  /** The cause, if the verdict is `failed`. */
  readonly reason: string | null;
}

const shareBelow = (value: number, must: number): number => Math.abs(value - must) / (must || 1);

/** The distance to `must` against the best HAProxy, as a share of `must`. It is 0 if the goal is met or was not judged. */
export function missedAgainstBest({ verdict, againstBest, must, missedBy }: GoalVerdict): number {
  if (verdict === 'failed' || verdict === 'disturbed' || verdict === 'not measured') return 0;
  if (againstBest === null) return missedBy;
  return againstBest.ratio.median < must ? shareBelow(againstBest.ratio.median, must) : 0;
}

const metricOf = (scenario: Scenario, wanted: string): BenchMetric =>
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
      if (goal.byWorst === true) return spread([Math.max(...allValuesOf(result, OURS, goal.metric))]);
      return spread(valuesOf(result, OURS, goal.metric));
  }
}

/** Considers every HAProxy of the run, including those of `--haproxy`. */
function bestRival(result: ScenarioResult, metric: BenchMetric): GoalVerdict['againstBest'] {
  const rivals = participantsIn(result)
    .filter((name) => name === BASELINE || name.startsWith(`${BASELINE}-`))
    .map((peer) => ({ peer, ratio: ratioTo(result, OURS, peer, metric) }))
    .filter(({ ratio }) => ratio.count > 0);
  const [best] = rivals.toSorted((a, b) => a.ratio.median - b.ratio.median);
  return best === undefined ? null : { ...best, of: rivals.length };
}

/** The participants whose rounds must be quiet. Under foreign load, the process with more threads simply gets more CPU. */
function comparedIn({ kind }: Goal): string[] {
  if (kind === 'ratio') return [OURS, BASELINE];
  return kind === 'self' ? [`${OURS}@1000`, `${OURS}@1`] : [OURS];
}

/** Returns null if there are enough measurements for a verdict. */
function failureOf(
  goal: Goal,
  result: ScenarioResult,
  { median }: Spread,
  absent: ReadonlyMap<string, string>,
): string | null {
  const names = comparedIn(goal);
  for (const name of names)
    if (result.failures[name] !== undefined) return `${name}: ${result.failures[name]}`;
  const { length } = measuredRounds(result, ...names);
  if (length > 0 && 2 * length >= result.rounds.length)
    return Number.isFinite(median) ? null : `${names.join(' and ')}: not a number`;
  for (const name of names) {
    const reason = absent.get(name.replace(/@.*/, ''));
    if (reason !== undefined && !participantsIn(result).includes(name)) return `${name}: ${reason}`;
  }
  return `${names.join(' and ')}: measured in ${length} of ${result.rounds.length} rounds`;
}

/** `absent` maps peers that are missing from some or all scenarios to the reason. */
export function verdicts(
  results: readonly ScenarioResult[],
  scenarios: readonly Scenario[],
  absent: ReadonlyMap<string, string> = new Map(),
): GoalVerdict[] {
  return GOALS.map((goal) => {
    const { title, kind, must, aim } = goal;
    const result = results.find(({ name }) => name === goal.scenario);
    const scenario = scenarios.find(({ name }) => name === goal.scenario);
    const nothing = { title, kind, must, aim, measured: null, againstBest: null, missedBy: 0, reason: null };
    if (result === undefined || scenario === undefined) return { ...nothing, verdict: 'not measured' };
    const found = measuredFor(goal, result, scenario);
    const againstBest = kind === 'ratio' ? bestRival(result, metricOf(scenario, goal.metric)) : null;
    const seen = { ...nothing, measured: Number.isFinite(found.median) ? found : null, againstBest };
    const reason = failureOf(goal, result, found, absent);
    if (reason !== null) return { ...seen, verdict: 'failed', reason };
    if (goal.byWorst !== true && !isQuiet(result, ...comparedIn(goal)))
      return { ...seen, verdict: 'disturbed' };
    const meets = (limit: number): boolean =>
      kind === 'most' ? found.median <= limit : found.median >= limit;
    if (meets(must)) return { ...seen, verdict: meets(aim) ? 'aim' : 'must' };
    return { ...seen, verdict: 'missed', missedBy: shareBelow(found.median, must) };
  });
}
