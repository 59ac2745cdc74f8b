// Values by two words, made when they are first asked for. Two lookups of words that are there already, where one key of both would be
// a new string for every connection, hashed and thrown away.
export class PairMap<T> {
  readonly #values = new Map<string, Map<string, T>>();
  readonly #make: (first: string, second: string) => T;

  constructor(make: (first: string, second: string) => T) {
    this.#make = make;
  }

  at(first: string, second: string): T {
    let inner = this.#values.get(first);
    if (inner === undefined) {
      inner = new Map();
      this.#values.set(first, inner);
    }
    let value = inner.get(second);
    if (value === undefined) {
      value = this.#make(first, second);
      inner.set(second, value);
    }
    return value;
  }

  /** Makes nothing. */
  find(first: string, second: string): T | undefined {
    return this.#values.get(first)?.get(second);
  }

  *values(): Iterable<T> {
    for (const inner of this.#values.values()) yield* inner.values();
  }

  /** All others are forgotten. */
  keep(isKept: (value: T) => boolean): void {
    for (const [first, inner] of this.#values) {
      for (const [second, value] of inner) if (!isKept(value)) inner.delete(second);
      if (inner.size === 0) this.#values.delete(first);
    }
  }
}
