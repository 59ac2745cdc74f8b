// Exponential backoff with jitter. It never waits less than the server's Retry-After. Its only state is the number of failures.

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly random: () => number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The next delay: between 50 and 100 % of the current step, so that clients that failed together do not retry together. */
  next({
    retryAfterMs = null,
    maxMs = this.#options.maxMs,
  }: {
    retryAfterMs?: number | null;
    maxMs?: number;
  } = {}): number {
    const { firstMs, random } = this.#options;
    // Bounded, because 2 ** failures would become Infinity.
    const stepMs = Math.min(firstMs * 2 ** Math.min(this.#failures++, 30), maxMs, this.#options.maxMs);
    const delayMs = stepMs * (0.5 + random() / 2);
    // The server sends many clients the same Retry-After. A random addition spreads their retries, but none comes too early.
    return retryAfterMs === null ? delayMs : Math.max(delayMs, retryAfterMs * (1 + random() / 10));
  }

  reset(): void {
    this.#failures = 0;
  }
}
