// Decides which changes of additional listeners are worth a Kubernetes Event, as cluster-events.ts does for clusters: what happened to
// one, not what is normal on a node that cannot reach it.
//
// | before → now                       | event                  | told by                      |
// | anything → serving                 | Normal Serving         | the instance that serves     |
// | serving → anything but invalid     | Warning NotServing     | the instance that served     |
// | anything → invalid, or another reason | Warning Invalid     | the first of the living      |
// | others                             | none                   |                              |
import type { ClusterEvent, EventObject } from './cluster-events.ts';
import type { ListenerStatus } from './listener-status.ts';

export interface ListenerEventsSettings {
  readonly now: () => number;
  readonly instance: string;
  readonly quietMs?: number;
}

export interface ListenerEventsContext {
  /** null where there is no object to write on. */
  readonly objectOf: (status: ListenerStatus) => EventObject | null;
  readonly isFirst: boolean;
}

const QUIET_MS = 60_000;

export class ListenerEvents {
  readonly #settings: ListenerEventsSettings;
  #before: ReadonlyMap<string, ListenerStatus> | null = null;
  /** Listeners of the first turns that were not served since: their coming up is the end of our start. */
  readonly #starting = new Set<string>();
  #startedAtMs: number | null = null;

  constructor(settings: ListenerEventsSettings) {
    this.#settings = settings;
  }

  changes(
    listeners: readonly ListenerStatus[],
    { objectOf, isFirst }: ListenerEventsContext,
  ): readonly ClusterEvent[] {
    const { now, quietMs = QUIET_MS } = this.#settings;
    const next = new Map(listeners.map((status) => [`${status.namespace}/${status.name}`, status]));
    const before = this.#before;
    // Nothing is known of listeners for the first few turns.
    if (before === null && next.size === 0) return [];
    this.#before = next;
    if (before === null) {
      this.#startedAtMs = now();
      for (const key of next.keys()) this.#starting.add(key);
    }
    if (now() - (this.#startedAtMs ?? 0) >= quietMs) this.#starting.clear();

    const events: ClusterEvent[] = [];
    for (const [key, status] of next) {
      const was = before?.get(key) ?? null;
      if (was === status) continue;
      const told = this.#told(status, was, this.#starting.has(key));
      if (status.state === 'serving') this.#starting.delete(key);
      if (told === null || (told.shared && !isFirst)) continue;
      const object = objectOf(status);
      if (object !== null) events.push({ object, ...told.event });
    }
    return events;
  }

  #told(status: ListenerStatus, was: ListenerStatus | null, isStarting: boolean): Told | null {
    const { state, reason } = status;
    const { instance } = this.#settings;
    if (was?.state === state && (state !== 'invalid' || was.reason === reason)) return null;
    const told = (type: 'Normal' | 'Warning', word: Word, message: string, shared: boolean): Told => ({
      event: { type, reason: word, message },
      shared,
    });
    if (state === 'serving')
      return isStarting ? null : told('Normal', 'Serving', `served by ${instance}: ${reason}`, false);
    if (state === 'invalid') return told('Warning', 'Invalid', reason, true);
    if (was?.state !== 'serving') return null;
    return told('Warning', 'NotServing', `no longer served by ${instance}: ${reason}`, false);
  }
}

type Word = 'Serving' | 'NotServing' | 'Invalid';

interface Told {
  readonly event: Pick<ClusterEvent, 'type' | 'reason' | 'message'>;
  readonly shared: boolean;
}
