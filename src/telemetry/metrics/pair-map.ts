// A map with two keys that makes a missing value on first access. It does two lookups with existing strings: one combined key would
// be a new string for every connection, built and hashed only for the lookup.
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

  /** Does not make a missing value. */
  find(first: string, second: string): T | undefined {
    return this.#values.get(first)?.get(second);
  }

  *values(): Iterable<T> {
    for (const inner of this.#values.values()) yield* inner.values();
  }

  /** Drops the values for which `isKept` returns false. */
  keep(isKept: (value: T) => boolean): void {
    for (const [first, inner] of this.#values) {
      for (const [second, value] of inner) if (!isKept(value)) inner.delete(second);
      if (inner.size === 0) this.#values.delete(first);
    }
  }
}
