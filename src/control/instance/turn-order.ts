// Decides which of several instances performs a shared write. Instances are ordered by name, which is also the order of their Leases.
// The first one acts. Each further instance acts a step later if the write is still necessary, so a stuck instance blocks nothing.
//
// | shared write                                  | instances in the order                        | pace              |
// | delete the slices and Lease of a dead instance | all live ones                                | `DEAD_INSTANCE`   |
// | delete orphaned Services and upstream slices  | live ones of the same scope (`Peers.rank`)    | `ORPHAN`          |
// | rewrite a kubeconfig                          | live ones with a ready slice of the cluster   | `KUBECONFIG`      |
// | restore a kubeconfig                          | live ones of the same scope                   | `KUBECONFIG`      |
// | status of an AdditionalListener               | live ones with a slice of the listener        | the first one only |
// | the same, while it has no slice               | live ones of the same scope with its netns    | `LISTENER_STATUS` |
// | Event about a change that all instances see   | live ones of the same scope                   | the first one only |
import { byText } from '../objects/text-order.ts';
import type { Peers, Self } from './instance-state.ts';

/** When each instance acts, counted from the time at which the write became necessary. */
export interface Pace {
  /** How long the first instance waits. */
  readonly settleMs: number;
  /** How much longer each further instance waits. */
  readonly stepMs: number;
  /** The maximum that the steps add. */
  readonly mostMs: number;
}

/** A step is long enough for the previous instance to delete everything. */
export const DEAD_INSTANCE: Pace = { settleMs: 0, stepMs: 3000, mostMs: Number.POSITIVE_INFINITY };
/** The first instance waits too, because another instance may be writing the object. */
export const ORPHAN: Pace = { ...DEAD_INSTANCE, settleMs: 1000 };
/** A step is the time limit of one request, so two instances never overwrite each other. */
export const KUBECONFIG: Pace = { settleMs: 0, stepMs: 10_000, mostMs: Number.POSITIVE_INFINITY };
/** Users wait for the status, and a second write costs little. */
export const LISTENER_STATUS: Pace = { settleMs: 0, stepMs: 200, mostMs: 4000 };

/** The number of these instances that come before `instance`. */
export function rankAmong(instance: string, instances: Iterable<string>): number {
  let rank = 0;
  for (const other of instances) if (byText(other, instance) < 0) rank += 1;
  return rank;
}

/** The first of these instances; null if there are none. */
export function firstOf(instances: Iterable<string>): string | null {
  let first: string | null = null;
  for (const instance of instances) if (first === null || byText(instance, first) < 0) first = instance;
  return first;
}

/** Whether this instance is the first live one of its scope. */
export const isFirst = ({ rank }: Pick<Peers, 'rank'>): boolean => rank === 0;

/** When the instance of this rank acts on a write that became necessary at `sinceMs`. */
export const turnAtMs = ({ settleMs, stepMs, mostMs }: Pace, rank: number, sinceMs: number): number =>
  sinceMs + settleMs + Math.min(rank * stepMs, mostMs);

/** Whether this process may write at all: it serves clients and holds the Lease of its node. */
export const mayAct = ({ holder, started }: Pick<Self, 'holder' | 'started'>): boolean => holder && started;

/** The earliest of several times; null: never. */
export const earliest = (...times: readonly (number | null)[]): number | null =>
  times.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)), null);
