// The public view of a reflector: its copy of the collection, how current that is, its problems and its counters.
import { KubeError, type KubeErrorCode } from '../kube-error.ts';
import type { PersistentMap } from '../persistent-map.ts';

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

export type ReflectorReport =
  | { readonly kind: 'failed'; readonly problem: ReflectorProblem; readonly retryInMs: number }
  | { readonly kind: 'rejected'; readonly key: string; readonly reason: string }
  | { readonly kind: 'callback-threw'; readonly reason: string };

export interface ReflectorCounts {
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  /** Lists and watches that failed. */
  readonly failures: number;
  /** The part of `failures` caused by invalid data: garbage, incomplete lines, unknown events. */
  readonly badAnswers: number;
}

/** A bug in a caller's function must not end the reflector: every occurrence is reported as a problem. */
export function problemOf(error: unknown): ReflectorProblem {
  if (error instanceof KubeError) return { code: error.code, message: error.message };
  return { code: 'bad-answer', message: String(error) };
}
