// An immutable (persistent) map: a change creates a new map, which shares almost all parts with the old one. So a snapshot of
// twenty thousand objects, or the difference of two snapshots, costs as much as its changes, not as its objects.

/** A power of two. A change copies one part, and the list of all parts. */
const PARTS = 256;
const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();

export class PersistentMap<V> implements ReadonlyMap<string, V> {
  readonly size: number;
  readonly #parts: readonly ReadonlyMap<string, V>[];

  private constructor(parts: readonly ReadonlyMap<string, V>[], size: number) {
    this.#parts = parts;
    this.size = size;
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(
      Array.from({ length: PARTS }, () => NOTHING),
      0,
    );
  }

  get(key: string): V | undefined {
    return this.#parts[partOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#parts[partOf(key)]?.has(key) ?? false;
  }

  /** Returns the same map if nothing differs. The value `undefined` removes a key. */
  with(changes: Iterable<readonly [string, V | undefined]>): PersistentMap<V> {
    const copies = new Map<number, Map<string, V>>();
    let { size } = this;
    for (const [key, value] of changes) {
      const number = partOf(key);
      const part = copies.get(number) ?? (this.#parts[number] as ReadonlyMap<string, V>);
      const before = part.get(key);
      if (before === value) continue;
      let copy = copies.get(number);
      if (copy === undefined) {
        copy = new Map(part);
        copies.set(number, copy);
      }
      if (value === undefined) copy.delete(key);
      else copy.set(key, value);
      size += Number(value !== undefined) - Number(before !== undefined);
    }
    if (copies.size === 0) return this;
    return new PersistentMap(
      this.#parts.map((part, number) => copies.get(number) ?? part),
      size,
    );
  }

  /** The changes that turn `before` into this map: keys with their new value, `undefined` for removed keys. */
  *changesSince(before: PersistentMap<V>): Generator<readonly [string, V | undefined], void, void> {
    for (const [number, part] of this.#parts.entries()) {
      const old = before.#parts[number] as ReadonlyMap<string, V>;
      if (old === part) continue;
      for (const [key, value] of part) if (old.get(key) !== value) yield [key, value];
      for (const key of old.keys()) if (!part.has(key)) yield [key, undefined];
    }
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const part of this.#parts) for (const [key, value] of part) visit(value, key, this);
  }

  *entries(): Generator<[string, V], undefined, unknown> {
    for (const part of this.#parts) yield* part.entries();
  }

  *keys(): Generator<string, undefined, unknown> {
    for (const part of this.#parts) yield* part.keys();
  }

  *values(): Generator<V, undefined, unknown> {
    for (const part of this.#parts) yield* part.values();
  }

  [Symbol.iterator](): Generator<[string, V], undefined, unknown> {
    return this.entries();
  }
}

/** FNV-1a, because names that differ in one digit must spread over all parts. */
function partOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) & (PARTS - 1);
}
