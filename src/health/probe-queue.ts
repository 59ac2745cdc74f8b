// A queue of targets that share a rate and a number of places; it selects the targets to probe now. Times are milliseconds of a
// monotonic clock, passed in. Nothing here waits or starts a probe.
import { type Due, dueInOrder } from './schedule.ts';

/** A wake-up costs more than a probe. At the rate limit, the queue waits and starts several probes together. */
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

  /** No place is free until a probe ends. */
  get isFull(): boolean {
    return this.#running >= this.#places;
  }

  /**
   * The members to probe now, at most `most`, and when to call again. The caller reports the end of each probe with `ended`.
   * `wakeMs` is Infinity if every place is taken or no member waits.
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
 * On a busy core a timer fires tens of milliseconds late, and a turn of the control loop takes as long. The pacer catches up on
 * missed starts; otherwise fewer probes would start than the rate allows. It drops more than this, so a pause causes no burst:
 * at most a tenth more than the rate in any second.
 */
const CATCH_UP_MS = 100;

/** Limits probe starts to `perSecond` on average, however late the caller wakes up. */
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
