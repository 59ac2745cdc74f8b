// The public view of a reflector: its copy of the collection, how current that is, its problems and its counters. The snapshot is a
// new object after each change, and the same reference otherwise.
import { KubeError, type KubeErrorCode } from '../kube-error.ts';
import type { PersistentMap } from '../persistent-map.ts';
import type { Mirror } from './mirror.ts';

export interface ReflectorProblem {
  readonly code: KubeErrorCode;
  readonly message: string;
}

export interface ReflectorSnapshot<T> {
  /** At least one full list was read. */
  readonly synced: boolean;
  /** Since when the content is stale, in monotonic milliseconds; null while the watch works. */
  readonly staleSinceMs: number | null;
  readonly problem: ReflectorProblem | null;
  /** By `keyOf`. Default: `<namespace>/<name>`, or `<name>` for a cluster-scoped object. */
  readonly items: PersistentMap<T>;
  /** Objects whose projection failed, with the reason. The last good projection of such an object stays in `items`. */
  readonly rejected: ReadonlyMap<string, string>;
}

/** An error that is not a KubeError is a bug in a caller's function. It must not end the reflector, so it becomes a problem. */
export function problemOf(error: unknown): ReflectorProblem {
  if (error instanceof KubeError) return { code: error.code, message: error.message };
  return { code: 'bad-answer', message: String(error) };
}

export class SnapshotState<T> {
  readonly #mirror: Mirror<T>;
  #synced = false;
  #staleSinceMs: number | null;
  #problem: ReflectorProblem | null = null;
  #snapshot: ReflectorSnapshot<T> | null = null;

  constructor({ mirror, staleSinceMs }: { mirror: Mirror<T>; staleSinceMs: number }) {
    this.#mirror = mirror;
    this.#staleSinceMs = staleSinceMs;
  }

  /** Returns the same reference while nothing changes. */
  snapshot(): ReflectorSnapshot<T> {
    this.#snapshot ??= Object.freeze({
      synced: this.#synced,
      staleSinceMs: this.#staleSinceMs,
      problem: this.#problem,
      items: this.#mirror.items(),
      rejected: this.#mirror.rejected(),
    });
    return this.#snapshot;
  }

  /** The snapshot has changed since the last call of `snapshot()`. */
  get isUnread(): boolean {
    return this.#snapshot === null;
  }

  contentChanged(): void {
    this.#snapshot = null;
  }

  /** A list completed. Until a watch opens, the content is stale since the list began. */
  listed(changed: boolean, beganMs: number): void {
    if (changed || !this.#synced) this.#snapshot = null;
    this.#synced = true;
    if (this.#staleSinceMs !== null) this.#set(beganMs, this.#problem);
  }

  /** The watch is open. */
  current(): void {
    this.#set(null, null);
  }

  failed(staleSinceMs: number, problem: ReflectorProblem): void {
    this.#set(this.#staleSinceMs ?? staleSinceMs, problem);
  }

  #set(staleSinceMs: number | null, problem: ReflectorProblem | null): void {
    const isSame =
      this.#staleSinceMs === staleSinceMs &&
      this.#problem?.code === problem?.code &&
      this.#problem?.message === problem?.message;
    if (isSame) return;
    this.#staleSinceMs = staleSinceMs;
    this.#problem = problem;
    this.#snapshot = null;
  }
}
