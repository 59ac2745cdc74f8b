// Decides which changes of clusters are worth a Kubernetes Event. An operator who looks at an OpenStackCluster wants to read
// what happened to it, not what is normal: that most nodes cannot reach an API server on OVN, or that a proxy was restarted.
//
// | before → now                         | event                    | told by                      |
// | anything → serving                   | Normal Proxied           | the instance that serves     |
// | serving → unhealthy, no-netns        | Warning Unhealthy, NoNetns | the instance that served   |
// | unhealthy ↔ no-netns, or at start    | none                     |                              |
// | new, or proxied → pending            | Normal Pending           | the first of the living      |
// | anything → invalid, or another reason | Warning NameInvalid, …  | the first of the living      |
// | proxied → not-proxied                | Normal NotProxied        | the first of the living      |
import { isClusterName } from './cluster-name.ts';
import type { ClusterStatus } from './cluster-status.ts';

export type ClusterEventReason =
  | 'Proxied'
  | 'Unhealthy'
  | 'NoNetns'
  | 'Pending'
  | 'Invalid'
  | 'NameInvalid'
  | 'NameConflict'
  | 'NotProxied'
  /** Of an additional listener. */
  | 'Serving'
  | 'NotServing';

/** The object that a status is about. */
export interface EventObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface ClusterEvent {
  readonly object: EventObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: ClusterEventReason;
  readonly message: string;
}

export interface ClusterEventsSettings {
  readonly now: () => number;
  readonly instance: string;
  /** After a start everything begins to be served once more; so long that is no news. */
  readonly quietMs?: number;
}

export interface ClusterEventsContext {
  /** null where there is no object to write on, or where it is being deleted: that its API server goes then is no news. */
  readonly objectOf: (status: ClusterStatus) => EventObject | null;
  /** Whether we are the first of the living by name. What all instances see alike is told by that one. */
  readonly isFirst: boolean;
}

const QUIET_MS = 60_000;

export class ClusterEvents {
  readonly #now: () => number;
  readonly #instance: string;
  readonly #quietMs: number;
  /** Of the last turn. */
  #before: ReadonlyMap<string, ClusterStatus> | null = null;
  /** Clusters of the first turn that were not served since: their coming up is the end of our start. */
  #starting = new Set<string>();
  #startedAtMs = 0;

  constructor({ now, instance, quietMs = QUIET_MS }: ClusterEventsSettings) {
    this.#now = now;
    this.#instance = instance;
    this.#quietMs = quietMs;
  }

  /** What is worth telling of the change from the last turn to this one. */
  changes(
    clusters: readonly ClusterStatus[],
    { objectOf, isFirst }: ClusterEventsContext,
  ): readonly ClusterEvent[] {
    const next = new Map(clusters.map((status) => [keyOf(status), status]));
    const before = this.#before;
    this.#before = next;
    if (before === null) {
      this.#startedAtMs = this.#now();
      this.#starting = new Set(next.keys());
    }
    const isStarting = this.#now() - this.#startedAtMs < this.#quietMs;
    if (!isStarting) this.#starting.clear();

    const events: ClusterEvent[] = [];
    for (const [key, status] of next) {
      const was = before?.get(key) ?? null;
      if (was === status) continue;
      const told = this.#told(status, was, this.#starting.has(key));
      if (status.state === 'serving') this.#starting.delete(key);
      if (told === null || (told.shared && !isFirst)) continue;
      const object = objectOf(status);
      if (object !== null)
        events.push({ object, type: told.type, reason: told.reason, message: told.message });
    }
    return events;
  }

  #told(status: ClusterStatus, was: ClusterStatus | null, isStarting: boolean): Told | null {
    const { state, reason } = status;
    if (was?.state === state && (state !== 'invalid' || was.reason === reason)) return null;
    switch (state) {
      case 'serving':
        return isStarting
          ? null
          : {
              type: 'Normal',
              reason: 'Proxied',
              message: `served by ${this.#instance}: ${reason}`,
              shared: false,
            };
      case 'unhealthy':
      case 'no-netns':
        if (was?.state !== 'serving') return null;
        return {
          type: 'Warning',
          reason: state === 'unhealthy' ? 'Unhealthy' : 'NoNetns',
          message: `no longer served by ${this.#instance}: ${reason}`,
          shared: false,
        };
      case 'pending':
        return isStarting ? null : { type: 'Normal', reason: 'Pending', message: reason, shared: true };
      case 'invalid':
        return { type: 'Warning', reason: invalidReason(status), message: reason, shared: true };
      case 'not-proxied':
        // Most clusters never were.
        return was === null ? null : { type: 'Normal', reason: 'NotProxied', message: reason, shared: true };
    }
  }
}

interface Told {
  readonly type: ClusterEvent['type'];
  readonly reason: ClusterEventReason;
  readonly message: string;
  readonly shared: boolean;
}

/** A cluster without server names has no name of its own: one that no Service can carry, or one that is another's. */
function invalidReason({ name, serverNames }: ClusterStatus): ClusterEventReason {
  if (!isClusterName(name)) return 'NameInvalid';
  return serverNames.length === 0 ? 'NameConflict' : 'Invalid';
}

const keyOf = ({ namespace, name, origin }: ClusterStatus): string => `${namespace}/${name}/${origin}`;
