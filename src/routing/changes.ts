// Finds the changes in plain data: which parts of a new state equal the state before, and which parts must be passed on. `isEqual`
// compares content. The `settled…` functions replace equal parts by the old objects, so that afterwards a changed reference means a
// changed part. `listChanges` and `changedList` carry only changed items from one thread to the other. Pure.

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whether two values of plain data have equal content. A field that is undefined equals one that is absent. Equal references need no
 * comparison: most parts of a state stay the same objects from turn to turn. Objects of other prototypes, such as Date, RegExp and
 * PersistentMap, have no place in compared parts: their content is in no field, so any two of them would be equal.
 */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && isEqualList(a, b);
  if (a instanceof Map) return b instanceof Map && isEqualMap(a, b);
  if (a instanceof Set) return b instanceof Set && isEqualSet(a, b);
  if (Array.isArray(b) || b instanceof Map || b instanceof Set) return false;
  for (const field in a) if (!isEqual((a as Fields)[field], (b as Fields)[field])) return false;
  for (const field in b) if ((b as Fields)[field] !== undefined && !(field in a)) return false;
  return true;
}

function isEqualList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (!isEqual(a[i], b[i])) return false;
  return true;
}

/** Ignores the order. */
function isEqualMap(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (!b.has(key) || !isEqual(value, b.get(key))) return false;
  return true;
}

/** For sets of plain values: an object equals only itself. */
function isEqualSet(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const value of a) if (!b.has(value)) return false;
  return true;
}

/** `before` if the two are equal. */
export const settled = <T>(before: T, next: T): T => (isEqual(before, next) ? before : next);

/** `before` if every field is the same reference. */
export function settledFields<T extends object>(before: T, next: T): T {
  const fields = Object.keys(next) as (keyof T)[];
  return fields.every((field) => before[field] === next[field]) ? before : Object.freeze(next);
}

export function settledMap<V>(
  before: ReadonlyMap<string, V>,
  next: ReadonlyMap<string, V>,
): ReadonlyMap<string, V> {
  if (isEqual(before, next)) return before;
  const kept = new Map<string, V>();
  for (const [key, value] of next) {
    const old = before.get(key);
    kept.set(key, old === undefined ? value : settled(old, value));
  }
  return kept;
}

/** If two items share a key, the later one is used. In the worst case an unchanged item is passed on again. */
export function settledList<T>(
  before: readonly T[],
  next: readonly T[],
  keyOf: (item: T) => string,
  /** For a changed item: reuses the parts that are equal to the old item. */
  partsOf: (old: T, item: T) => T = (_old, item) => item,
): readonly T[] {
  if (isEqual(before, next)) return before;
  const known = new Map(before.map((item) => [keyOf(item), item]));
  return Object.freeze(
    next.map((item) => {
      const old = known.get(keyOf(item));
      if (old === undefined) return item;
      return isEqual(old, item) ? old : partsOf(old, item);
    }),
  );
}

/** A list in which a number is the index of an unchanged item in the previous list, and an object is a new item. */
export type ListChanges<T extends object> = readonly (number | T)[];

/** Compares items by reference, or by what `identityOf` returns. */
export function listChanges<T extends object>(
  before: readonly T[],
  after: readonly T[],
  identityOf: (item: T) => unknown = (item) => item,
): ListChanges<T> {
  const places = new Map(before.map((item, place) => [identityOf(item), place]));
  return after.map((item) => places.get(identityOf(item)) ?? item);
}

/** The later list, frozen, with every unchanged item as the same object. */
export function changedList<T extends object>(before: readonly T[], changes: ListChanges<T>): readonly T[] {
  return Object.freeze(
    changes.map((change) => (typeof change === 'number' ? itemAt(before, change) : frozen(change))),
  );
}

export function itemAt<T>(list: readonly T[], place: number): T {
  const item = list[place];
  if (item === undefined) throw new Error(`there is no item ${place} in a list of ${list.length}`);
  return item;
}

/** Freezes the item and all its parts. */
export function frozen<T extends object>(item: T): T {
  for (const part of Object.values(item)) if (typeof part === 'object' && part !== null) frozen(part);
  return Object.freeze(item);
}
