// Hands out the moments at which probes may start: evenly spaced, never more than `perSecond` in any second.

/**
 * Timers fire up to some milliseconds late; without catching up on that a limit of 200 would give 170. It also lets a few start
 * together (four, of 200 a second), so that one wake-up does for them.
 */
const CATCH_UP_MS = 20;

export class Pacer {
  readonly #gapMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number) {
    // What may be caught up is paid for here, so that the limit holds for any window of a second and not only on average.
    this.#gapMs = (1000 + CATCH_UP_MS) / perSecond;
  }

  /** How long until the next start is allowed; 0 when it is allowed now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextMs - nowMs);
  }

  /** Call at each start, only when `waitMs` says 0. */
  started(nowMs: number): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs - CATCH_UP_MS) + this.#gapMs;
  }
}
