// The times that old instances write on their slices, and whether the writer of one still lives. Only change counts, on our
// own monotonic clock: their own rule compares two clocks, and a node whose clock is off loses its slices. Ours is written
// so that they can read it.

/** As old instances have it. */
const EXPIRES_AFTER_MS = 30_000;

export interface SeenTimestamp {
  /** Of the slice. */
  readonly name: string;
  /** The annotation as it stands; null where there is none. */
  readonly timestamp: string | null;
}

export interface TimestampSettings {
  readonly now: () => number;
  readonly expiresAfterMs?: number;
}

export class TimestampJudge {
  readonly #now: () => number;
  readonly #expiresAfterMs: number;
  /** By name of the slice. No more than were last seen. */
  #seen = new Map<string, { timestamp: string | null; sinceMs: number }>();

  constructor({ now, expiresAfterMs = EXPIRES_AFTER_MS }: TimestampSettings) {
    this.#now = now;
    this.#expiresAfterMs = expiresAfterMs;
  }

  /**
   * All slices of old instances there are. One seen for the first time gets its full time from now on; and so do all, while the
   * API cannot be heard: their writers cannot be heard there either.
   */
  observe(slices: readonly SeenTimestamp[], heard = true): void {
    const now = this.#now();
    const before = heard ? this.#seen : new Map<string, never>();
    this.#seen = new Map(
      slices.map(({ name, timestamp }) => {
        const known = before.get(name);
        return [name, known?.timestamp === timestamp ? known : { timestamp, sinceMs: now }];
      }),
    );
  }

  /** Whether its writer has left it alone for too long. What was never seen is not expired. */
  timestampExpired(name: string): boolean {
    const known = this.#seen.get(name);
    return known !== undefined && this.#now() - known.sinceMs >= this.#expiresAfterMs;
  }

  /** When the next one expires if nothing happens; null when none will. */
  nextExpiryMs(): number | null {
    const now = this.#now();
    const coming = [...this.#seen.values()]
      .map(({ sinceMs }) => sinceMs + this.#expiresAfterMs)
      .filter((atMs) => atMs > now);
    return coming.length === 0 ? null : coming.reduce((a, b) => Math.min(a, b));
  }
}

/** Six digits and `+00:00`, as Python writes it: before 3.11 it reads neither `Z` nor any other number of digits but three. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000+00:00');
}

/** Milliseconds since 1970, or null for what is no such time. Python leaves the fraction out where it is zero. */
export function parseTimestamp(text: string): number | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{3})(?:\d{3})?)?(?:\+00:00|Z)$/.exec(text);
  if (match === null) return null;
  const [, second = '', fraction = '000'] = match;
  const canonical = `${second}.${fraction}Z`;
  const ms = Date.parse(canonical);
  // Date.parse takes the 30th of February for the 2nd of March.
  return Number.isNaN(ms) || new Date(ms).toISOString() !== canonical ? null : ms;
}
