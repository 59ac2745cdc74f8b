// The timestamps that instances of magnum-cluster-api-proxy write on their slices, and whether the writer is still alive. A writer is
// alive if its timestamp changed recently, by the local monotonic clock. magnum-cluster-api-proxy compares the clocks of two nodes
// instead, so a node with a wrong clock loses its slices. `formatTimestamp` writes a format that magnum-cluster-api-proxy can read.

/** The same value as in magnum-cluster-api-proxy. */
const EXPIRES_AFTER_MS = 30_000;

export interface SeenTimestamp {
  /** Name of the slice. */
  readonly name: string;
  /** The annotation's text; null if absent. */
  readonly timestamp: string | null;
}

export interface TimestampSettings {
  readonly now: () => number;
  readonly expiresAfterMs?: number;
}

export class TimestampTracker {
  readonly #now: () => number;
  readonly #expiresAfterMs: number;
  /** By name of the slice. Bounded by the slices of the last `observe`. */
  #seen = new Map<string, { timestamp: string | null; sinceMs: number }>();

  constructor({ now, expiresAfterMs = EXPIRES_AFTER_MS }: TimestampSettings) {
    this.#now = now;
    this.#expiresAfterMs = expiresAfterMs;
  }

  /**
   * Records all slices of magnum-cluster-api-proxy. A new slice expires after the full time from now on. While the slices are not
   * watched, this holds for all of them, because updates by their writers are not visible.
   */
  observe(slices: readonly SeenTimestamp[], watched = true): void {
    const now = this.#now();
    const before = watched ? this.#seen : new Map<string, never>();
    this.#seen = new Map(
      slices.map(({ name, timestamp }) => {
        const known = before.get(name);
        return [name, known?.timestamp === timestamp ? known : { timestamp, sinceMs: now }];
      }),
    );
  }

  /** Whether the timestamp has not changed for too long. An unknown slice is not expired. */
  timestampExpired(name: string): boolean {
    const known = this.#seen.get(name);
    return known !== undefined && this.#now() - known.sinceMs >= this.#expiresAfterMs;
  }

  /** When the next slice expires if nothing changes; null if none will. */
  nextExpiryMs(): number | null {
    const now = this.#now();
    const coming = [...this.#seen.values()]
      .map(({ sinceMs }) => sinceMs + this.#expiresAfterMs)
      .filter((atMs) => atMs > now);
    return coming.length === 0 ? null : coming.reduce((a, b) => Math.min(a, b));
  }
}

/** Six fraction digits and `+00:00`, like Python. Python before 3.11 reads only three or six digits, and no `Z`. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000+00:00');
}

/** Milliseconds since 1970; null if the text is not such a time. Python omits a fraction of zero. */
export function parseTimestamp(text: string): number | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{3})(?:\d{3})?)?(?:\+00:00|Z)$/.exec(text);
  if (match === null) return null;
  const [, second = '', fraction = '000'] = match;
  const canonical = `${second}.${fraction}Z`;
  const ms = Date.parse(canonical);
  // Date.parse accepts February 30 and returns March 2.
  return Number.isNaN(ms) || new Date(ms).toISOString() !== canonical ? null : ms;
}
