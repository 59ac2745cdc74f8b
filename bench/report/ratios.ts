// From rounds to numbers: the median of each metric, and the median of its same-round ratios to HAProxy.
import type { Round, ScenarioResult } from '../harness/runner.ts';
import { median, type Spread, spread } from '../harness/statistics.ts';
import type { Metric } from '../scenarios/scenario.ts';

export const BASELINE = 'haproxy';
/** HAProxy with settings that are better for some of the work and worse for the rest. */
export const OTHER_BASELINES = ['haproxy-nosplice', 'haproxy-pipes'] as const;

/** `isthmus-native@1000` is compared with `haproxy@1000`. */
const baselineOf = (participant: string): string =>
  BASELINE + (participant.includes('@') ? participant.slice(participant.indexOf('@')) : '');

/** The rounds in which none of these was disturbed; all rounds, where those are fewer than half. */
function usableRounds(result: ScenarioResult, ...names: string[]): readonly Round[] {
  const quiet = quietRounds(result, ...names);
  return 2 * quiet.length >= result.rounds.length ? quiet : result.rounds;
}

export const quietRounds = (result: ScenarioResult, ...names: string[]): readonly Round[] =>
  result.rounds.filter(({ disturbed }) => names.every((name) => !disturbed.includes(name)));

export function valuesOf(result: ScenarioResult, participant: string, metric: string): number[] {
  return usableRounds(result, participant).flatMap(
    ({ measurements }) => measurements[participant]?.values[metric] ?? [],
  );
}

/** Above 1: `participant` is better than `base`. */
export function ratioTo(result: ScenarioResult, participant: string, base: string, metric: Metric): Spread {
  const ratios = usableRounds(result, participant, base).flatMap(({ measurements }) => {
    const ours = measurements[participant]?.values[metric.name];
    const theirs = measurements[base]?.values[metric.name];
    if (ours === undefined || theirs === undefined) return [];
    return [metric.better === 'higher' ? ours / theirs : theirs / ours];
  });
  return spread(ratios);
}

export interface Cell {
  readonly participant: string;
  readonly median: number;
  readonly ratio: Spread;
}

export function cellsOf(result: ScenarioResult, metric: Metric): Cell[] {
  const names = [...new Set(result.rounds.flatMap(({ measurements }) => Object.keys(measurements)))].sort();
  return names.flatMap((participant) => {
    const values = valuesOf(result, participant, metric.name);
    if (values.length === 0) return [];
    return [
      {
        participant,
        median: median(values),
        ratio: ratioTo(result, participant, baselineOf(participant), metric),
      },
    ];
  });
}
