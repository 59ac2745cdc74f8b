// What a reflector shows of itself: its picture of the collection and how good that is, what went wrong, what it has done so far.
import { KubeError, type KubeErrorCode } from '../kube-error.ts';
import type { SteadyMap } from '../steady-map.ts';

export interface ReflectorProblem {
  readonly code: KubeErrorCode;
  readonly message: string;
}

export interface ReflectorSnapshot<T> {
  /** A full list was seen at least once. */
  readonly synced: boolean;
  /** Monotonic ms since when we hear nothing reliable; null while the watch is well. */
  readonly staleSinceMs: number | null;
  readonly problem: ReflectorProblem | null;
  /** By `<namespace>/<name>`, or `<name>` where there is no namespace, unless `keyOf` says otherwise. */
  readonly items: SteadyMap<T>;
  /** Objects that could not be projected, and why. If an earlier form of one could be, that is still among the items. */
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
  /** Of them: garbage, half lines, unknown events. */
  readonly badAnswers: number;
}

/** A bug in what we were given must not end the mirror either: it is shown as a problem, again and again. */
export function problemOf(error: unknown): ReflectorProblem {
  if (error instanceof KubeError) return { code: error.code, message: error.message };
  return { code: 'bad-answer', message: String(error) };
}
