// Targets that share a rate and a number of places, and which of them are probed now. Times come in as milliseconds of a monotonic
// clock: nothing here waits, or starts anything.
import { type Due, dueInOrder } from './schedule.ts';

/** To wake up costs more than a probe: at the limit of the rate several are waited for, and start together. */
const BATCH_MS = 50;

export class Lane<T extends Due> {
  readonly members = new Set<T>();
  readonly #pacer: Pacer;
  readonly #places: number;
  /** Of members that were removed meanwhile, too. */
  #running = 0;

  constructor(perSecond: number, places: number) {
    this.#pacer = new Pacer(perSecond);
    this.#places = places;
  }

  get running(): number {
    return this.#running;
  }

  /** No place is left: only the end of a probe makes one. */
  get isFull(): boolean {
    return this.#running >= this.#places;
  }

  /**
   * Those that start now, `most` of them at the most, each to be told of by `ended`; and when to ask again, which may be never: when
   * every place is taken, or nobody waits.
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
 * On a busy core a timer fires tens of milliseconds late, and a turn of the control loop is as long: what was missed meanwhile is
 * caught up on, or fewer would start than the rate allows. More than this is forgotten, so that no pause is followed by a burst: any
 * second sees a tenth more than the rate at most.
 */
const CATCH_UP_MS = 100;

/** Hands out the moments at which probes may start: `perSecond` of them on average, however late the caller is woken. */
export class Pacer {
  readonly #gapMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number) {
    this.#gapMs = 1000 / perSecond;
  }

  /** How long until the next start is allowed; 0 when it is allowed now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextMs - nowMs);
  }

  /** How many may start now. */
  allowed(nowMs: number): number {
    if (this.#nextMs > nowMs) return 0;
    return 1 + Math.floor((nowMs - Math.max(this.#nextMs, nowMs - CATCH_UP_MS)) / this.#gapMs);
  }

  /** So many were started now: no more than were allowed. */
  started(nowMs: number, count: number): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs - CATCH_UP_MS) + count * this.#gapMs;
  }
}
