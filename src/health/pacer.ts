// Hands out the moments at which probes may start: `perSecond` of them on average, however late whoever asks is woken.

/**
 * On a busy core a timer fires tens of milliseconds late, and a turn of the control loop is as long: what was missed meanwhile is
 * caught up on, or fewer would start than the rate allows. More than this is forgotten, so that no pause is followed by a burst: any
 * second sees a tenth more than the rate at most.
 */
const CATCH_UP_MS = 100;

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
