// What we wrote and the watch has not told yet. Without it the next turn would decide from the past and write the same again;
// with it a plan that was carried out is followed by an empty one. What the watch says wins as soon as it says anything new.

interface Written<T> {
  /** null: deleted. */
  readonly object: T | null;
  /** What the watch may show as long as it has not heard of the write, or of those of ours before it; null: nothing. */
  readonly older: readonly (string | null)[];
  readonly untilMs: number;
}

/**
 * A watch tells within milliseconds. One that has not told for so long is broken, or it told at once of our write and of somebody's
 * deletion, which looks as if nothing had happened. To write once more then is harmless: the API refuses what is there.
 */
const BELIEVED_MS = 2000;
/** Writes of ours in a row that no watch has told of. */
const MAX_OLDER = 8;

export class WrittenObjects<T> {
  readonly #versionOf: (object: T) => string;
  readonly #now: () => number;
  readonly #written = new Map<string, Written<T>>();
  #source: ReadonlyMap<string, T> | null = null;
  #merged: ReadonlyMap<string, T> | null = null;

  constructor(versionOf: (object: T) => string, now: () => number) {
    this.#versionOf = versionOf;
    this.#now = now;
  }

  /** `replaced` is the resourceVersion that the write was based on; null for an object that was not there. */
  record(key: string, object: T | null, replaced: string | null): void {
    const before = this.#written.get(key);
    const older = before === undefined ? [replaced] : [...before.older.slice(-MAX_OLDER), replaced];
    this.#written.set(key, { object, older, untilMs: this.#now() + BELIEVED_MS });
    this.#merged = null;
  }

  /** When something is no longer believed though nothing happens (monotonic); null: nothing is written and not yet told. */
  expiresAtMs(): number | null {
    let at: number | null = null;
    for (const { untilMs } of this.#written.values()) at = Math.min(at ?? untilMs, untilMs);
    return at;
  }

  /** The same reference while nothing changed. */
  over(items: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
    if (items === this.#source && this.#merged !== null && this.#written.size === 0) return this.#merged;
    this.#source = items;
    for (const [key, { older, untilMs }] of this.#written) {
      const shown = items.get(key);
      const version = shown === undefined ? null : this.#versionOf(shown);
      if (!older.includes(version) || this.#now() >= untilMs) {
        this.#written.delete(key);
        this.#merged = null;
      }
    }
    if (this.#written.size === 0) {
      this.#merged = items;
    } else {
      const merged = new Map(items);
      for (const [key, { object }] of this.#written) {
        if (object === null) merged.delete(key);
        else merged.set(key, object);
      }
      this.#merged = merged;
    }
    return this.#merged;
  }
}
