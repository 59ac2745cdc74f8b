// Remembers how the attempts of a reflector ended. Decides after each failure how long to wait, whether the position of the watch is
// still valid, and since when the content is stale. It sends nothing and starts no timer.
import { KubeError, type KubeErrorCode } from '../kube-error.ts';

export interface WatchRetryOptions {
  /** Monotonic. */
  readonly now: () => number;
  readonly random: () => number;
  /** Longest wait between two attempts for a resource that the server does not serve. */
  readonly maxAbsentBackoffMs?: number | undefined;
  /** The same for a resource that the user may not read. */
  readonly maxForbiddenBackoffMs?: number | undefined;
}

export interface Retry {
  readonly delayMs: number;
  /** False: the watch cannot continue from its position, so the next attempt lists first. */
  readonly keepsPosition: boolean;
  readonly staleSinceMs: number;
}

const FIRST_BACKOFF_MS = 200;
/** A recovered API is noticed after at most this time. With it, twenty instances with six watches each send 12 requests a second. */
const MAX_BACKOFF_MS = 10_000;
/** For a CRD that is not installed. The time is short, so that a new CRD is found without a noticeable delay. */
const MAX_ABSENT_BACKOFF_MS = 10_000;
/** A watch that lasted this long was successful and resets the backoff. */
const GOOD_WATCH_MS = 10_000;
/** After this many consecutive attempts without a valid event, a `doubtful` position counts as invalid. */
const MAX_FRUITLESS_ATTEMPTS = 2;

/**
 * The position of the watch after a failure. `valid`: the server is unreachable or overloaded. `doubtful`: the next attempt can
 * succeed. `invalid`: only a list helps.
 */
const POSITION_AFTER: Readonly<Record<KubeErrorCode, 'valid' | 'doubtful' | 'invalid'>> = {
  unreachable: 'valid',
  timeout: 'valid',
  'too-many-requests': 'valid',
  'server-error': 'doubtful',
  unauthorized: 'doubtful',
  'bad-answer': 'doubtful',
  forbidden: 'invalid',
  'not-found': 'invalid',
  conflict: 'invalid',
  'already-exists': 'invalid',
  gone: 'invalid',
  invalid: 'invalid',
};

export class WatchRetry {
  readonly #now: () => number;
  readonly #longestBackoffMs: Readonly<Partial<Record<KubeErrorCode, number>>>;
  readonly #backoff: Backoff;
  #fruitlessAttempts = 0;
  #wasGone = false;
  /** The watch of the current or last attempt: when it opened, when its last event came, whether a valid event came. */
  #openedAtMs: number | null = null;
  #lastEventAtMs = 0;
  #hadEvent = false;

  constructor(options: WatchRetryOptions) {
    const { now, random, maxAbsentBackoffMs = MAX_ABSENT_BACKOFF_MS } = options;
    const { maxForbiddenBackoffMs = MAX_BACKOFF_MS } = options;
    this.#now = now;
    this.#longestBackoffMs = { 'not-found': maxAbsentBackoffMs, forbidden: maxForbiddenBackoffMs };
    const maxMs = Math.max(MAX_BACKOFF_MS, maxAbsentBackoffMs, maxForbiddenBackoffMs);
    this.#backoff = new Backoff({ firstMs: FIRST_BACKOFF_MS, maxMs, random });
  }

  attemptBegan(): void {
    this.#openedAtMs = null;
    this.#hadEvent = false;
  }

  listed(): void {
    this.#fruitlessAttempts = 0;
  }

  watchOpened(): void {
    this.#openedAtMs = this.#lastEventAtMs = this.#now();
    this.#wasGone = false;
  }

  eventCame(): void {
    this.#hadEvent = true;
    this.#lastEventAtMs = this.#now();
  }

  /** How long the watch of this attempt has been open; 0 if it did not open. */
  watchedMs(): number {
    return this.#openedAtMs === null ? 0 : this.#now() - this.#openedAtMs;
  }

  succeeded(): void {
    this.#backoff.reset();
  }

  failed(error: unknown, code: KubeErrorCode): Retry {
    this.#fruitlessAttempts = this.#hadEvent ? 0 : this.#fruitlessAttempts + 1;
    const timedOutOpen = code === 'timeout' && this.#openedAtMs !== null;
    return {
      keepsPosition: this.#keepsPosition(code, timedOutOpen),
      delayMs: this.#delayMs(error, code),
      // After a silent timeout the content is stale since the last event. A closed connection is noticed at once.
      staleSinceMs: timedOutOpen ? this.#lastEventAtMs : this.#now(),
    };
  }

  #keepsPosition(code: KubeErrorCode, timedOutOpen: boolean): boolean {
    switch (POSITION_AFTER[code]) {
      case 'valid':
        // A server that was restored from a backup sends nothing, not even a bookmark, until it reaches our version.
        return !timedOutOpen || this.#hadEvent;
      case 'doubtful':
        return this.#fruitlessAttempts < MAX_FRUITLESS_ATTEMPTS;
      case 'invalid':
        return false;
    }
  }

  #delayMs(error: unknown, code: KubeErrorCode): number {
    // A server that answers `gone` is reachable: retry without a long wait, unless it answers `gone` repeatedly.
    const isFirstGone = code === 'gone' && !this.#wasGone;
    this.#wasGone = code === 'gone';
    if (isFirstGone || this.watchedMs() >= GOOD_WATCH_MS) this.#backoff.reset();
    return this.#backoff.next({
      retryAfterMs: error instanceof KubeError ? error.retryAfterMs : null,
      maxMs: this.#longestBackoffMs[code] ?? MAX_BACKOFF_MS,
    });
  }
}

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly random: () => number;
}

/** Exponential backoff with jitter. It never waits less than the server's Retry-After. Its only state is the number of failures. */
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
