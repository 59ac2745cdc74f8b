// Reduces rounds to numbers: the median of each metric, and the median of its same-round ratios to HAProxy.
import type { Round, ScenarioResult } from '../harness/runner.ts';
import { median, type Spread, spread } from '../harness/statistics.ts';
import type { BenchMetric } from '../scenarios/scenario.ts';

export const BASELINE = 'haproxy';

/** `isthmus-native@1000` is compared with `haproxy@1000`. */
const baselineOf = (participant: string): string =>
  BASELINE + (participant.includes('@') ? participant.slice(participant.indexOf('@')) : '');

export const participantsIn = (result: ScenarioResult): string[] =>
  [...new Set(result.rounds.flatMap(({ measurements }) => Object.keys(measurements)))].sort();

/** Returns the rounds in which all named peers were measured. After a failure, a peer is absent from all later rounds. */
export const measuredRounds = (result: ScenarioResult, ...names: string[]): readonly Round[] =>
  result.rounds.filter(({ measurements }) => names.every((name) => measurements[name] !== undefined));

const quietRounds = (result: ScenarioResult, ...names: string[]): readonly Round[] =>
  measuredRounds(result, ...names).filter(({ disturbed }) =>
    names.every((name) => !disturbed.includes(name)),
  );

/** Whether all named peers were undisturbed in at least half of the rounds that measured all of them. */
export const isQuiet = (result: ScenarioResult, ...names: string[]): boolean =>
  2 * quietRounds(result, ...names).length >= measuredRounds(result, ...names).length;

const usableRounds = (result: ScenarioResult, ...names: string[]): readonly Round[] =>
  (isQuiet(result, ...names) ? quietRounds : measuredRounds)(result, ...names);

export function valuesOf(result: ScenarioResult, participant: string, metric: string): number[] {
  return usableRounds(result, participant).flatMap(
    ({ measurements }) => measurements[participant]?.values[metric] ?? [],
  );
}

/** Returns the values of all rounds, disturbed ones included. */
export const allValuesOf = (result: ScenarioResult, participant: string, metric: string): number[] =>
  result.rounds.flatMap(({ measurements }) => measurements[participant]?.values[metric] ?? []);

/** A ratio above 1 means that `participant` is better than `base`. */
export function ratioTo(
  result: ScenarioResult,
  participant: string,
  base: string,
  metric: BenchMetric,
): Spread {
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
  /** Null for a metric that does not describe the peer. */
  readonly ratio: Spread | null;
  /** `disturbed` is for `median`, `ratioDisturbed` for `ratio`: too few measurements were quiet, so all of them count. */
  readonly disturbed: boolean;
  readonly ratioDisturbed: boolean;
}

export function cellsOf(result: ScenarioResult, metric: BenchMetric): Cell[] {
  return participantsIn(result).flatMap((participant) => {
    const values = valuesOf(result, participant, metric.name);
    if (values.length === 0) return [];
    const base = baselineOf(participant);
    return [
      {
        participant,
        median: median(values),
        ratio: metric.incomparable === true ? null : ratioTo(result, participant, base, metric),
        disturbed: !isQuiet(result, participant),
        ratioDisturbed: !isQuiet(result, participant, base),
      },
    ];
  });
}
