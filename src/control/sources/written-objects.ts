// Keeps our writes until the watch delivers them. Without it, the next turn would plan from stale objects and write the same again.
// The watch wins as soon as it has reached the version of the write.
import type { PersistentMap } from '../../kube/persistent-map.ts';

/** The progress of a watch (a reflector). */
export interface WatchProgress {
  /** How many lists the watch has begun so far. */
  listsBegun(): number;
  /**
   * Whether the watch has reached this version (null: unknown).
   * `listsBegun`: the number of lists that had begun when the server already had this version.
   */
  hasReached(version: string | null, listsBegun: number): boolean;
}

interface Written<T> {
  /** null: deleted. */
  readonly object: T | null;
  /** Versions that the watch may show before it delivers this write or our earlier writes; null: no object. */
  readonly older: readonly (string | null)[];
  readonly listsBegun: number;
}

/** How many undelivered writes to one object are remembered. */
const MAX_OLDER = 8;

export class WrittenObjects<T> {
  readonly #versionOf: (object: T) => string;
  readonly #watch: WatchProgress;
  readonly #written = new Map<string, Written<T>>();
  #source: PersistentMap<T> | null = null;
  #merged: PersistentMap<T> | null = null;

  constructor(versionOf: (object: T) => string, watch: WatchProgress) {
    this.#versionOf = versionOf;
    this.#watch = watch;
  }

  /** `replaced` is the resourceVersion that the write was based on; null for a new object. */
  record(key: string, object: T | null, replaced: string | null): void {
    const before = this.#written.get(key);
    const older = before === undefined ? [replaced] : [...before.older.slice(-MAX_OLDER), replaced];
    this.#written.set(key, { object, older, listsBegun: this.#watch.listsBegun() });
    this.#merged = null;
  }

  /** `items` with our pending writes on top. Returns the same reference while nothing changed. */
  over(items: PersistentMap<T>): PersistentMap<T> {
    for (const [key, written] of this.#written) {
      if (!this.#isDelivered(written, items.get(key))) continue;
      this.#written.delete(key);
      this.#merged = null;
    }
    if (items === this.#source && this.#merged !== null) return this.#merged;
    this.#source = items;
    this.#merged = items.with(
      Array.from(this.#written, ([key, { object }]) => [key, object ?? undefined] as const),
    );
    return this.#merged;
  }

  /**
   * True if the watch shows our write or a later one. Also true if the watch has passed the version of our write, but still shows the
   * state before it. Then another writer has deleted the object that we created. A deletion of ours has no known version, so only a later list
   * proves that the watch has passed it.
   */
  #isDelivered({ object, older, listsBegun }: Written<T>, shown: T | undefined): boolean {
    if (!older.includes(shown === undefined ? null : this.#versionOf(shown))) return true;
    return this.#watch.hasReached(object === null ? null : this.#versionOf(object), listsBegun);
  }
}
