// What the main thread and the control thread say to each other: plain data, copied on the way. Every kind of message has a bound
// on how many of it can be under way, so that neither side ever piles up work for one that is busy.
import type { KubernetesStatus } from '../control/apply/kubernetes-status.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import type { DesiredChanges } from './control-changes.ts';

export type ToControl =
  /** Once: look at the world and begin. Until then the thread only loads its code. */
  | { readonly kind: 'start' }
  /** Once: where clients are served, with the port that was really taken. */
  | { readonly kind: 'listening'; readonly address: string; readonly port: number }
  /** Clients could not reach these backends (by key). The next one waits for `dials-noted`. */
  | { readonly kind: 'dials-failed'; readonly backends: readonly string[] }
  /** What came of each port that was asked for, all of them by name. The next one waits for `ports-noted`. */
  | { readonly kind: 'ports'; readonly ports: ReadonlyMap<string, PortOutcome> }
  /** The last `published` has been taken over. */
  | { readonly kind: 'taken' }
  /** Answered by `beat`, and not repeated before. */
  | { readonly kind: 'beat' }
  /** Answered by `health`, and not repeated before. */
  | { readonly kind: 'ask-health' }
  /** Once: send clients elsewhere before we stop. Answered by `withdrawn`. */
  | { readonly kind: 'withdraw' }
  /** Once: end everything, then the thread. */
  | { readonly kind: 'stop' };

export type FromControl =
  /** Once: the first turn is done. */
  | { readonly kind: 'started' }
  /** Once: every backend that was found at the start has its first verdict, or took too long; what follows from it is published. */
  | { readonly kind: 'settled' }
  /** What changed since the last one. The next one waits for `taken`, and then holds all that has changed meanwhile. */
  | { readonly kind: 'published'; readonly changes: DesiredChanges }
  | { readonly kind: 'dials-noted' }
  | { readonly kind: 'ports-noted' }
  /** So many backends came up and went down: no more often than there are turns. */
  | { readonly kind: 'health-changed'; readonly up: number; readonly down: number }
  /** How long the turns since the last beat took, and how we stand with the Kubernetes API. */
  | {
      readonly kind: 'beat';
      readonly turnsMs: readonly number[];
      readonly kubernetes: KubernetesStatus | null;
    }
  /** Once: it cannot begin, for a reason that the operator can mend; the thread ends. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Once: nobody is sent here any more, or it took too long. */
  | { readonly kind: 'withdrawn' }
  /** Once: another process on this node has taken over; we write nothing more, and should end. */
  | { readonly kind: 'succeeded'; readonly holder: string }
  | {
      readonly kind: 'health';
      readonly health: ReadonlyMap<string, TargetHealth>;
      readonly kubernetes: KubernetesStatus | null;
    }
  | {
      readonly kind: 'log';
      readonly level: LogLevel;
      readonly facts: Readonly<Record<string, unknown>>;
      readonly message: string;
    };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
