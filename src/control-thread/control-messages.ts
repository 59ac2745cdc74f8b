// The messages between the main thread and the control thread: plain data, copied between threads. The number of messages in flight
// is bounded for each kind, so neither side builds up a queue for a busy peer.
import type { KubernetesStatus } from '../control/apply/kubernetes-status.ts';
import type { ClaimSettings } from '../control/instance/lease-claim.ts';
import type { ReadyCheck } from '../control/objects/ready-check.ts';
import type { TargetHealth } from '../health/target-health.ts';
import type { PortOutcome } from '../routing/route-table.ts';
import type { LogFacts, LogLevel } from '../telemetry/log/log-fields.ts';
import type { DesiredChanges } from './control-changes.ts';

/** Where this process comes from. It decides whether the process may take the Lease of its node over. */
export type ProcessOrigin = Pick<ClaimSettings, 'processId' | 'predecessor'>;

export type ToControl =
  /** Once: start to observe and publish. Until then the thread only loads its code. */
  | ({ readonly kind: 'start' } & ProcessOrigin)
  /** Once: the address of the TLS listener, with the port that was actually bound. */
  | { readonly kind: 'listening'; readonly address: string; readonly port: number }
  /** Dials to these backends failed (keys). The next message of this kind waits for `dials-noted`. */
  | { readonly kind: 'dials-failed'; readonly backends: readonly string[] }
  /** The outcomes of all wanted ports, by name. The next message of this kind waits for `ports-noted`. */
  | { readonly kind: 'ports'; readonly ports: ReadonlyMap<string, PortOutcome> }
  /** The main thread has applied the last `published`. */
  | { readonly kind: 'taken' }
  /** Answered by `beat`, and not repeated before the answer. */
  | { readonly kind: 'beat' }
  /** Answered by `health`, and not repeated before the answer. */
  | { readonly kind: 'ask-health' }
  /** Once: withdraw this instance from Kubernetes before it stops. Answered by `withdrawn`. */
  | { readonly kind: 'withdraw' }
  /** Once: stop all parts, then end the thread. */
  | { readonly kind: 'stop' };

export type FromControl =
  /** Once: the first turn is done. */
  | { readonly kind: 'started' }
  /** Once: every initial backend has its first verdict, or the time limit passed. The resulting state is published. */
  | { readonly kind: 'settled' }
  /** The checks of the control side, after each change, until all have passed. `able`: all checks that need no Lease passed. */
  | { readonly kind: 'readiness'; readonly able: boolean; readonly checks: readonly ReadyCheck[] }
  /** The changes since the last `published`. The next one waits for `taken` and then contains all changes until that time. */
  | { readonly kind: 'published'; readonly changes: DesiredChanges }
  | { readonly kind: 'dials-noted' }
  | { readonly kind: 'ports-noted' }
  /** The number of backends that came up and went down. At most one message per turn. */
  | { readonly kind: 'health-changed'; readonly up: number; readonly down: number }
  /** The durations of the turns since the last beat, and the Kubernetes status. */
  | {
      readonly kind: 'beat';
      readonly turnsMs: readonly number[];
      readonly kubernetes: KubernetesStatus | null;
    }
  /** Once: the thread cannot start, for a reason that the operator can fix. The thread ends. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Once: no published slice sends clients to this instance any more, or the time limit passed. */
  | { readonly kind: 'withdrawn' }
  /** Once: another process on this node supersedes this one. This process writes nothing more and should end. */
  | { readonly kind: 'superseded'; readonly holder: string }
  /** Once: another process keeps the Lease of this node. This process must end. */
  | { readonly kind: 'lease-refused'; readonly reason: string }
  | {
      readonly kind: 'health';
      readonly health: ReadonlyMap<string, TargetHealth>;
      readonly kubernetes: KubernetesStatus | null;
    }
  | {
      readonly kind: 'log';
      readonly level: LogLevel;
      readonly facts: LogFacts;
      readonly message: string;
    };
