// Sends periodic beats to the control thread and measures how long it has not answered. It counts unanswered beats instead of
// seconds: a main thread that was itself blocked must not report the control thread as stalled.

export interface ControlHeartbeatOptions {
  /** Sends a beat. The owner reports the answer with `answered`. */
  readonly ask: () => void;
  readonly onStall: (sinceMs: number) => void;
  readonly onRecovery: (silentMs: number) => void;
}

const INTERVAL_MS = 1000;

/** The largest accepted manifest (4 MiB of YAML) takes about 3 s to parse. */
const MISSED_BEATS = 5;

export class ControlHeartbeat {
  readonly #options: ControlHeartbeatOptions;
  #timer: NodeJS.Timeout | null = null;
  #askedMs: number | null = null;
  #askedAt = 0;
  #lastLagMs = 0;
  #missed = 0;

  constructor(options: ControlHeartbeatOptions) {
    this.#options = options;
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
    if (this.#missed >= MISSED_BEATS) this.#options.onRecovery(this.#lastLagMs);
    this.#missed = 0;
  }

  /** The age of the open beat, or the round trip of the last one. */
  get lagMs(): number {
    return this.#askedMs === null ? this.#lastLagMs : performance.now() - this.#askedMs;
  }

  /** When the unanswered beat was sent (milliseconds since the epoch); null while the control thread answers. */
  get stalledSinceMs(): number | null {
    return this.#missed >= MISSED_BEATS ? this.#askedAt : null;
  }

  #beat(): void {
    if (this.#askedMs === null) {
      this.#ask();
      return;
    }
    this.#missed += 1;
    if (this.#missed === MISSED_BEATS) this.#options.onStall(this.#askedAt);
  }

  #ask(): void {
    this.#askedMs = performance.now();
    this.#askedAt = Date.now();
    this.#options.ask();
  }
}
