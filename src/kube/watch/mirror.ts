// The local copy of a collection: projections of its objects by key. An unchanged object keeps the same projection (the same
// reference) through events and lists. No I/O.
import { type KubeObject, objectKey, resourceVersionOf } from '../kube-object.ts';
import { PersistentMap } from '../persistent-map.ts';

interface Mirrored<T> {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly value: T;
}

export interface MirrorOptions<T> {
  readonly project: (object: KubeObject) => T;
  /** Default: `<namespace>/<name>`, or `<name>` for a cluster-scoped object. */
  readonly keyOf?: ((object: KubeObject) => string) | undefined;
  /** If two projections are equal, the older one stays. */
  readonly equal?: ((before: T, after: T) => boolean) | undefined;
}

const uidOf = ({ metadata }: KubeObject): string | null =>
  typeof metadata.uid === 'string' ? metadata.uid : null;

/** Explicit, because equal items are the same objects: a comparison of content would read every object of a list. */
function isSameMap<V>(
  before: ReadonlyMap<string, V>,
  after: ReadonlyMap<string, V>,
  isSame: (a: V, b: V) => boolean,
): boolean {
  if (before.size !== after.size) return false;
  for (const [key, value] of after) {
    const known = before.get(key);
    if (known === undefined || !isSame(known, value)) return false;
  }
  return true;
}

export class Mirror<T> {
  readonly #options: MirrorOptions<T>;
  #held = new Map<string, Mirrored<T>>();
  #rejected = new Map<string, string>();
  readonly #keyOf: (object: KubeObject) => string;
  /** The items at the last call, and the keys that may have changed since then. */
  #items = PersistentMap.empty<T>();
  readonly #touched = new Set<string>();

  constructor(options: MirrorOptions<T>) {
    this.#options = options;
    this.#keyOf = options.keyOf ?? objectKey;
  }

  /** An immutable snapshot: later changes of the mirror do not affect it. */
  items(): PersistentMap<T> {
    this.#items = this.#items.with(
      Array.from(this.#touched, (key) => [key, this.#held.get(key)?.value] as const),
    );
    this.#touched.clear();
    return this.#items;
  }

  rejected(): ReadonlyMap<string, string> {
    return new Map(this.#rejected);
  }

  /** `put` and `remove` return whether `items` or `rejected` changed. */
  put(object: KubeObject): boolean {
    const key = this.#keyOf(object);
    const before = this.#held.get(key);
    this.#touched.add(key);
    const [held, reason] = this.#projected(object, before, true);
    const wasRejected = this.#rejected.get(key) ?? null;
    if (held === null) this.#held.delete(key);
    else this.#held.set(key, held);
    if (reason === null) this.#rejected.delete(key);
    else this.#rejected.set(key, reason);
    return (
      held?.value !== before?.value || (held === null) !== (before === undefined) || reason !== wasRejected
    );
  }

  remove(object: KubeObject): boolean {
    const key = this.#keyOf(object);
    const held = this.#held.get(key);
    const uid = uidOf(object);
    // With different uids, the event is about an earlier object of the same name.
    if (held !== undefined && held.uid !== null && uid !== null && held.uid !== uid) return false;
    this.#touched.add(key);
    const wasRejected = this.#rejected.delete(key);
    return this.#held.delete(key) || wasRejected;
  }

  /** Begins to read a list. `keepSame`: an object with an unchanged version keeps its projection. */
  beginList(keepSame: boolean): MirrorList {
    const held = new Map<string, Mirrored<T>>();
    const rejected = new Map<string, string>();
    return {
      add: (object) => {
        const key = this.#keyOf(object);
        const [next, reason] = this.#projected(object, this.#held.get(key), keepSame);
        if (next !== null) held.set(key, next);
        if (reason !== null) rejected.set(key, reason);
      },
      reject: (key, reason) => {
        rejected.set(key, reason);
      },
      commit: () => {
        const changed =
          !isSameMap(this.#held, held, (a, b) => a.value === b.value) ||
          !isSameMap(this.#rejected, rejected, (a, b) => a === b);
        for (const known of [this.#held, held]) for (const key of known.keys()) this.#touched.add(key);
        this.#held = held;
        this.#rejected = rejected;
        return changed;
      },
    };
  }

  #projected(
    object: KubeObject,
    before: Mirrored<T> | undefined,
    keepSame: boolean,
  ): readonly [Mirrored<T> | null, string | null] {
    const [uid, resourceVersion] = [uidOf(object), resourceVersionOf(object)];
    const isSameObject = before !== undefined && before.uid === uid;
    if (keepSame && isSameObject && resourceVersion !== null && before.resourceVersion === resourceVersion)
      return [before, null];
    try {
      const value = this.#options.project(object);
      const isEqual = before !== undefined && this.#options.equal?.(before.value, value) === true;
      return [{ uid, resourceVersion, value: isEqual ? before.value : value }, null];
    } catch (error) {
      const reason = String((error as Error)?.message ?? error).slice(0, 200);
      // The object exists, although it is invalid. Without its last valid projection it would look deleted.
      return [isSameObject ? { ...before, resourceVersion: null } : null, reason];
    }
  }
}

export interface MirrorList {
  add(object: KubeObject): void;
  /** Records a list item that is not a Kubernetes object. */
  reject(key: string, reason: string): void;
  /** Replaces the mirror's content with the added objects. Returns whether it changed. */
  commit(): boolean;
}
