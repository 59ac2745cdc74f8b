// A queue of targets that share a rate and a limit of concurrent probes. It selects the targets to probe now, but does not
// start their probes. Times are milliseconds of a monotonic clock, passed in.
import { type Due, dueInOrder } from './schedule.ts';

/** At the rate limit, the queue waits for this time and then starts several probes together, because a wake-up costs more than a probe. */
const BATCH_MS = 50;

export class ProbeQueue<T extends Due> {
  readonly members = new Set<T>();
  readonly #pacer: Pacer;
  readonly #places: number;
  /** Includes the probes of members that were removed after the start. */
  #running = 0;

  constructor(perSecond: number, places: number) {
    this.#pacer = new Pacer(perSecond);
    this.#places = places;
  }

  get running(): number {
    return this.#running;
  }

  /** No further probe may start until one ends. */
  get isFull(): boolean {
    return this.#running >= this.#places;
  }

  /**
   * The members to probe now, at most `most`, and when to call again. The caller reports the end of each probe with `ended`.
   * `wakeMs` is Infinity if the limit of concurrent probes is reached or no member waits.
   */
  take(nowMs: number, intervalMs: number, most: number): { picks: readonly T[]; wakeMs: number } {
    const places = Math.min(most, this.#places - this.#running);
    if (places <= 0 || this.members.size === 0) return { picks: [], wakeMs: Number.POSITIVE_INFINITY };
    const allowed = Math.min(places, this.#pacer.allowed(nowMs));
    if (allowed === 0) return { picks: [], wakeMs: this.#nextBatchMs(nowMs) };
    const { picks, due, wakeMs } = dueInOrder(this.members, nowMs, intervalMs, allowed);
    if (picks.length > 0) this.#pacer.started(nowMs, picks.length);
    this.#running += picks.length;
    if (picks.length === due) return { picks, wakeMs };
    return { picks, wakeMs: allowed === places ? Number.POSITIVE_INFINITY : this.#nextBatchMs(nowMs) };
  }

  ended(): void {
    this.#running -= 1;
  }

  #nextBatchMs(nowMs: number): number {
    return nowMs + Math.max(BATCH_MS, this.#pacer.waitMs(nowMs));
  }
}

/**
 * How much missed time the pacer catches up on. On a busy core a timer fires tens of milliseconds late, and a turn of the
 * control loop takes as long. Without catching up, fewer probes would start than the rate allows. Time beyond this limit is
 * dropped, so a pause causes no burst: in any second, at most a tenth more probes start than the rate.
 */
const CATCH_UP_MS = 100;

/** Limits probe starts to `perSecond` on average, even if the caller wakes up late. */
export class Pacer {
  readonly #gapMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number) {
    this.#gapMs = 1000 / perSecond;
  }

  /** Time until the next allowed start; 0 if a start is allowed now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextMs - nowMs);
  }

  /** How many probes may start now. */
  allowed(nowMs: number): number {
    if (this.#nextMs > nowMs) return 0;
    return 1 + Math.floor((nowMs - Math.max(this.#nextMs, nowMs - CATCH_UP_MS)) / this.#gapMs);
  }

  /** Records `count` starts; at most `allowed`. */
  started(nowMs: number, count: number): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs - CATCH_UP_MS) + count * this.#gapMs;
  }
}
