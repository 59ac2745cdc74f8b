// What we wrote and the watch has not told yet. Without it the next turn would decide from the past and write the same again;
// with it a plan that was carried out is followed by an empty one. What the watch says wins as soon as it has come so far.
import type { SteadyMap } from '../../kube/steady-map.ts';

/** How far the watch is: a reflector. */
export interface WatchProgress {
  /** Names this moment. */
  moment(): number;
  /** It shows what was so at this version of the collection (null: one that is not known), which was reached before the moment. */
  hasTold(version: string | null, moment: number): boolean;
}

interface Written<T> {
  /** null: deleted. */
  readonly object: T | null;
  /** What the watch may show as long as it has not heard of the write, or of those of ours before it; null: nothing. */
  readonly older: readonly (string | null)[];
  readonly moment: number;
}

/** Writes of ours in a row that no watch has told of. */
const MAX_OLDER = 8;

export class WrittenObjects<T> {
  readonly #versionOf: (object: T) => string;
  readonly #watch: WatchProgress;
  readonly #written = new Map<string, Written<T>>();
  #source: SteadyMap<T> | null = null;
  #merged: SteadyMap<T> | null = null;

  constructor(versionOf: (object: T) => string, watch: WatchProgress) {
    this.#versionOf = versionOf;
    this.#watch = watch;
  }

  /** `replaced` is the resourceVersion that the write was based on; null for an object that was not there. */
  record(key: string, object: T | null, replaced: string | null): void {
    const before = this.#written.get(key);
    const older = before === undefined ? [replaced] : [...before.older.slice(-MAX_OLDER), replaced];
    this.#written.set(key, { object, older, moment: this.#watch.moment() });
    this.#merged = null;
  }

  /** The same reference while nothing changed. */
  over(items: SteadyMap<T>): SteadyMap<T> {
    for (const [key, written] of this.#written) {
      if (!this.#isTold(written, items.get(key))) continue;
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
   * Either it shows something that came after, or it has come so far and shows what was there before: then somebody has deleted what
   * we made. Of a deletion the version is not known, but what is deleted never comes back as it was.
   */
  #isTold({ object, older, moment }: Written<T>, shown: T | undefined): boolean {
    if (!older.includes(shown === undefined ? null : this.#versionOf(shown))) return true;
    return this.#watch.hasTold(object === null ? null : this.#versionOf(object), moment);
  }
}
