// Decides when a target is probed next, and who goes first when more are due than the rate allows. Pure: times come in as
// milliseconds of a monotonic clock, chance as a number in [0, 1).
import type { HealthSettings } from './health-settings.ts';
import type { Verdict } from './verdict.ts';

/*
 * | after a probe the target is                                    | next probe follows in                            |
 * | undecided: the last result contradicts the verdict             | 200 ms                                           |
 * | fresh: just flipped, just recovered from a blip, just added    | 200 ms, then 400, 800, 1600 while all agree      |
 * | settled: results have agreed for some seconds, up or down      | 2 s, or targets / 200 s when that is longer      |
 *
 * A settled *down* target is not hurried: unhealthy here is the normal state of most targets of most nodes. Its recovery is
 * still decided 200 ms after the first success. A fresh one is: a netns appears before its devices and addresses do.
 */
type Pace = Pick<HealthSettings, 'intervalMs' | 'fastIntervalMs' | 'maxProbesPerSecond'>;

const JITTER = 0.1;

/** The plain interval, stretched so that this many targets stay below the rate. */
export function stretchedIntervalMs(pace: Pace, targets: number): number {
  return Math.max(pace.intervalMs, (targets / pace.maxProbesPerSecond) * 1000);
}

export function delayAfterProbeMs(verdict: Verdict, pace: Pace, targets: number, chance: number): number {
  const settledMs = stretchedIntervalMs(pace, targets);
  const calm = isUndecided(verdict) ? 0 : verdict.agreeing - 1;
  const delayMs = Math.min(settledMs, pace.fastIntervalMs * 2 ** calm);
  return delayMs * (1 - JITTER + 2 * JITTER * chance);
}

/** When each of many new targets is first due: one after the other at the permitted rate, so that adding them is no burst. */
export function firstDueMs(
  pace: Pick<HealthSettings, 'maxFirstProbesPerSecond'>,
  nowMs: number,
  index: number,
): number {
  return nowMs + (index / pace.maxFirstProbesPerSecond) * 1000;
}

/**
 * | 2 | clients are sent there and it may be dead: up, but the last probe or a dial of real traffic failed |
 * | 1 | it may serve soon: new, or down and the last probe passed                                          |
 * | 0 | routine: the last probe said what was known                                                        |
 */
export type Urgency = 0 | 1 | 2;

export function urgencyAfterProbe(verdict: Verdict): Urgency {
  if (!isUndecided(verdict)) return 0;
  return verdict.up ? 2 : 1;
}

function isUndecided(verdict: Verdict): boolean {
  return verdict.against > 0;
}

/** To wake up costs more than a probe: whoever is awake takes along what is due within a twentieth of its delay, or 100 ms. */
export const slackOf = (delayMs: number): number => Math.min(100, delayMs / 20);

export interface Due {
  /** Not before this, unless somebody is awake anyway: then so much earlier. */
  readonly dueMs: number;
  readonly slackMs: number;
  readonly urgency: Urgency;
}

/**
 * Those to probe now, `most` at the most, if any is due; how many are due in all; and when the first that is not will be. The earliest
 * deadline goes first, and each degree of urgency puts it one interval earlier. So urgent ones overtake, and yet none can starve.
 * A walk over all of them is cheaper than it looks, since several start after each: 20 walks a second over 1000 targets.
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
    // Few are picked of what may be thousands: nothing but those is kept in order.
    const deadline = deadlineMs(each);
    let place = picks.length;
    while (place > 0 && deadline < deadlineMs(picks[place - 1] as T)) place -= 1;
    if (place >= most) continue;
    if (picks.length === most) picks.pop();
    picks.splice(place, 0, each);
  }
  return firstMs > nowMs ? { picks: [], due: 0, wakeMs: firstMs } : { picks, due, wakeMs: laterMs };
}
