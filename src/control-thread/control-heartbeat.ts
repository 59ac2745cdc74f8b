// Asks the control thread for a sign of life, again and again, and knows how long it has been silent. It counts questions that
// went unanswered, not time: a main thread that was itself away for seconds must not accuse the other.

export interface ControlHeartbeatDeps {
  /** Sends the question; the answer comes back through `answered`. */
  readonly ask: () => void;
  readonly onStall: (sinceMs: number) => void;
  readonly onRecovery: (silentMs: number) => void;
}

const INTERVAL_MS = 1000;

/** The largest manifest that is read at all (4 MiB of YAML) takes some 3 s. */
const MISSED_BEATS = 5;

export class ControlHeartbeat {
  readonly #deps: ControlHeartbeatDeps;
  #timer: NodeJS.Timeout | null = null;
  #askedMs: number | null = null;
  #askedAt = 0;
  #lastLagMs = 0;
  #missed = 0;

  constructor(deps: ControlHeartbeatDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#beat(), INTERVAL_MS);
    this.#ask();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#askedMs = null;
    this.#missed = 0;
  }

  answered(): void {
    if (this.#askedMs === null) return;
    this.#lastLagMs = performance.now() - this.#askedMs;
    this.#askedMs = null;
    if (this.#missed >= MISSED_BEATS) this.#deps.onRecovery(this.#lastLagMs);
    this.#missed = 0;
  }

  /** How long the question that is open has been waiting, or how long the last one took. */
  get lagMs(): number {
    return this.#askedMs === null ? this.#lastLagMs : performance.now() - this.#askedMs;
  }

  /** Since when (milliseconds since the epoch) it does not answer; null while it does. */
  get stalledSinceMs(): number | null {
    return this.#missed >= MISSED_BEATS ? this.#askedAt : null;
  }

  #beat(): void {
    if (this.#askedMs === null) {
      this.#ask();
      return;
    }
    this.#missed += 1;
    if (this.#missed === MISSED_BEATS) this.#deps.onStall(this.#askedAt);
  }

  #ask(): void {
    this.#askedMs = performance.now();
    this.#askedAt = Date.now();
    this.#deps.ask();
  }
}
