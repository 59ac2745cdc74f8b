// How long to wait after a failure: longer each time, never twice the same, and as long as the server asks for. Pure but for the
// count it keeps.

export interface BackoffDeps {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly random: () => number;
}

export class Backoff {
  readonly #deps: BackoffDeps;
  #failures = 0;

  constructor(deps: BackoffDeps) {
    this.#deps = deps;
  }

  /** Between a half and the whole of the step: those who failed together must not come back together. */
  next({
    retryAfterMs = null,
    maxMs = this.#deps.maxMs,
  }: {
    retryAfterMs?: number | null;
    maxMs?: number;
  } = {}): number {
    const { firstMs, random } = this.#deps;
    // Bounded, or some day 2 ** failures is Infinity.
    const stepMs = Math.min(firstMs * 2 ** Math.min(this.#failures++, 30), maxMs, this.#deps.maxMs);
    const delayMs = stepMs * (0.5 + random() / 2);
    // Spread what all were told alike, to the later side only.
    return retryAfterMs === null ? delayMs : Math.max(delayMs, retryAfterMs * (1 + random() / 10));
  }

  reset(): void {
    this.#failures = 0;
  }
}
