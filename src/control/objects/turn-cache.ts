// The cache of the control loop: results that the next turn uses again while their inputs are the same objects. It lowers the cost of a
// turn and never changes a result. The loop owns one cache and passes it to each stage.

interface Known {
  readonly inputs: readonly unknown[];
  readonly result: unknown;
}

/** Whether two lists have the same items, by reference. A loop instead of `every`: a turn compares thousands of inputs. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}

export class TurnCache {
  /** By function: its last call. */
  readonly #last = new Map<unknown, Known>();
  /** By function: its last call for each first argument. */
  readonly #each = new Map<unknown, WeakMap<object, Known>>();
  readonly #parts = new Map<unknown, unknown>();

  /** `compute(...inputs)`, or the result of the last call if that had the same inputs. */
  last<A extends readonly unknown[], T>(compute: (...inputs: A) => T, ...inputs: A): T {
    const known = this.#last.get(compute);
    if (known !== undefined && isSameList(known.inputs, inputs)) return known.result as T;
    const result = compute(...inputs);
    this.#last.set(compute, { inputs, result });
    return result;
  }

  /** As `last`, but remembers the last call for each `item`, until the item is garbage collected. */
  each<K extends object, A extends readonly unknown[], T>(
    compute: (item: K, ...inputs: A) => T,
    item: K,
    ...inputs: A
  ): T {
    let calls = this.#each.get(compute);
    if (calls === undefined) {
      calls = new WeakMap();
      this.#each.set(compute, calls);
    }
    const known = calls.get(item);
    if (known !== undefined && isSameList(known.inputs, inputs)) return known.result as T;
    const result = compute(item, ...inputs);
    calls.set(item, { inputs, result });
    return result;
  }

  /** A part of the cache that decides by itself which entries are still valid. `create` makes it on first use, and is its key. */
  part<T>(create: () => T): T {
    if (!this.#parts.has(create)) this.#parts.set(create, create());
    return this.#parts.get(create) as T;
  }
}
