// Decides when a target is probed next, and the order when more targets are due than the rate allows. Pure: times are milliseconds
// of a monotonic clock, and randomness is a number in [0, 1), both passed in.
import type { HealthSettings } from './health-settings.ts';
import type { ProbeTarget } from './probe.ts';
import type { Verdict } from './target-health.ts';

/*
 * | after a probe the target is                                    | next probe follows in                            |
 * | undecided: the last result contradicts the verdict             | 200 ms                                           |
 * | fresh: just added, just flipped, or no longer undecided        | 200 ms, then 400, 800, 1600 while all agree      |
 * | settled: results have agreed for some seconds, up or down      | 2 s, or targets / 200 s when that is longer      |
 *
 * A settled target that is down gets no fast probes, because on most nodes most targets are down. Its second success is still
 * probed 200 ms after the first. A fresh target gets fast probes, because a netns appears before its devices and addresses.
 *
 * `targets` is the sum of their shares. A further way to an API server (`way` in probe.ts) has a smaller share and a longer interval:
 *
 * A way with a small share is never fresh: after a start on an OVN node, the fresh probes of 3000 dead ways would take five minutes.
 *
 * | way                                                    | share | interval      |
 * | needed and up: clients use it                          | 1     | 2 s           |
 * | needed and down                                        | 1/5   | 10 s          |
 * | spare: a better way is up                              | 1/30  | 60 s          |
 */
type ProbePace = Pick<HealthSettings, 'intervalMs' | 'fastIntervalMs' | 'maxProbesPerSecond'>;

const JITTER = 0.1;

/** The plain interval, stretched to keep this many targets below the rate. */
export function stretchedIntervalMs(
  pace: Pick<ProbePace, 'intervalMs' | 'maxProbesPerSecond'>,
  targets: number,
): number {
  return Math.max(pace.intervalMs, (targets / pace.maxProbesPerSecond) * 1000);
}

const SHARE_OF_DOWN_WAY = 1 / 5;
const SHARE_OF_SPARE = 1 / 30;

/** How often a settled target is probed, in relation to the plain interval. */
export function shareOf({ way }: Pick<ProbeTarget, 'way'>, { up }: Pick<Verdict, 'up'>): number {
  if (way === 'spare') return SHARE_OF_SPARE;
  return way === undefined || up ? 1 : SHARE_OF_DOWN_WAY;
}

export interface Paced {
  readonly verdict: Verdict;
  readonly target: Pick<ProbeTarget, 'way'>;
}

/** `load` is the sum of the shares of all targets. */
export function delayAfterProbeMs(
  { verdict, target }: Paced,
  pace: ProbePace,
  load: number,
  chance: number,
): number {
  const settledMs = stretchedIntervalMs(pace, load) / shareOf(target, verdict);
  const isRare = shareOf(target, verdict) < 1 && !isUndecided(verdict);
  const doublings = isUndecided(verdict) ? 0 : verdict.agreeing - 1;
  const delayMs = isRare ? settledMs : Math.min(settledMs, pace.fastIntervalMs * 2 ** doublings);
  return delayMs * (1 - JITTER + 2 * JITTER * chance);
}

/** When a new spare way is first due: spares follow one another over one interval. */
export const firstSpareDueMs = (nowMs: number, settledMs: number, index: number, of: number): number =>
  nowMs + (settledMs * (index + 0.5)) / of;

/** When a new target is first due. Many new targets follow one another at the permitted rate, without a burst. */
export function firstDueMs(
  pace: Pick<HealthSettings, 'maxFirstProbesPerSecond'>,
  nowMs: number,
  index: number,
): number {
  return nowMs + (index / pace.maxFirstProbesPerSecond) * 1000;
}

/**
 * | 2 | in use and possibly dead: up, but the last probe or a dial of real traffic failed |
 * | 1 | possibly serving soon: new, or down and the last probe passed                     |
 * | 0 | routine: the last probe confirmed the verdict                                     |
 */
export type Urgency = 0 | 1 | 2;

export function urgencyAfterProbe(verdict: Verdict): Urgency {
  if (!isUndecided(verdict)) return 0;
  return verdict.up ? 2 : 1;
}

function isUndecided(verdict: Verdict): boolean {
  return verdict.against > 0;
}

/** How much earlier than due a probe may start, so that one wake-up starts several probes. A wake-up costs more than a probe. */
export const slackOf = (delayMs: number): number => Math.min(100, delayMs / 20);

export interface Due {
  /** The earliest start. If the monitor is awake anyway, the probe may start up to `slackMs` earlier. */
  readonly dueMs: number;
  readonly slackMs: number;
  readonly urgency: Urgency;
}

/**
 * Returns the targets to probe now (at most `most`), how many are due in total, and when the next one is due. The earliest deadline
 * comes first, and each degree of urgency moves a deadline one interval earlier. So urgent targets come first, but no target
 * starves. The full scan is cheap, because each scan starts several probes: 20 scans a second for 1000 targets.
 */
export function dueInOrder<T extends Due>(
  waiting: Iterable<T>,
  nowMs: number,
  intervalMs: number,
  most: number,
): { picks: T[]; due: number; wakeMs: number } {
  const deadlineMs = ({ dueMs, urgency }: T) => dueMs - urgency * intervalMs;
  const picks: T[] = [];
  let due = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  let laterMs = Number.POSITIVE_INFINITY;
  for (const each of waiting) {
    const { dueMs } = each;
    if (dueMs < firstMs) firstMs = dueMs;
    if (dueMs - each.slackMs > nowMs) {
      if (dueMs < laterMs) laterMs = dueMs;
      continue;
    }
    due += 1;
    // Only the few picks are kept in order: there can be thousands of waiting targets.
    const deadline = deadlineMs(each);
    let place = picks.length;
    while (place > 0 && deadline < deadlineMs(picks[place - 1] as T)) place -= 1;
    if (place >= most) continue;
    if (picks.length === most) picks.pop();
    picks.splice(place, 0, each);
  }
  return firstMs > nowMs ? { picks: [], due: 0, wakeMs: firstMs } : { picks, due, wakeMs: laterMs };
}
