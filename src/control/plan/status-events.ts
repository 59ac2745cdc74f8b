// Which changes from one turn to the next become Kubernetes Events: the mechanism that clusters and additional listeners share. What is
// worth a word of which state, each says for itself (cluster-events.ts, listener-events.ts).

export type EventReason =
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

export interface StatusEvent {
  readonly object: EventObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

export interface Told extends Omit<StatusEvent, 'object'> {
  /** All instances see it alike: the first of the living tells it. */
  readonly shared: boolean;
}

interface Status {
  readonly state: string;
  readonly reason: string;
}

/** What is particular to one kind of status. */
export interface EventRules<S extends Status> {
  readonly keyOf: (status: S) => string;
  /** Asked of what has another state than before, or is invalid for another reason; null: not worth a word. */
  readonly told: (status: S, was: S | null, isStarting: boolean) => Told | null;
  /** Asked of each status that changed, whatever its state; null: nothing more to tell. */
  readonly toldBesides?: (status: S, was: S | null) => Told | null;
  /** The first turns may know of none: those that come then were there before us. */
  readonly waitsForFirst: boolean;
}

export interface StatusEventsSettings {
  readonly now: () => number;
  /** After a start everything begins to be served once more; so long that is no news. */
  readonly quietMs?: number;
}

export interface StatusEventsContext<S> {
  /** null where there is no object to write on, or where it is being deleted: that its API server goes then is no news. */
  readonly objectOf: (status: S) => EventObject | null;
  /** Whether we are the first of the living by name. What all instances see alike is told by that one. */
  readonly isFirst: boolean;
}

const QUIET_MS = 60_000;

export class StatusEvents<S extends Status> {
  readonly #rules: EventRules<S>;
  readonly #now: () => number;
  readonly #quietMs: number;
  /** Of the last turn. */
  #before: ReadonlyMap<string, S> | null = null;
  /** Those of the first turn that were not served since: their coming up is the end of our start. */
  #starting = new Set<string>();
  #startedAtMs = 0;

  constructor(rules: EventRules<S>, { now, quietMs = QUIET_MS }: StatusEventsSettings) {
    this.#rules = rules;
    this.#now = now;
    this.#quietMs = quietMs;
  }

  /** What is worth telling of the change from the last turn to this one. */
  changes(statuses: readonly S[], { objectOf, isFirst }: StatusEventsContext<S>): readonly StatusEvent[] {
    const { keyOf, waitsForFirst } = this.#rules;
    const next = new Map(statuses.map((status) => [keyOf(status), status]));
    const before = this.#before;
    if (before === null && next.size === 0 && waitsForFirst) return [];
    this.#before = next;
    if (before === null) {
      this.#startedAtMs = this.#now();
      this.#starting = new Set(next.keys());
    }
    if (this.#now() - this.#startedAtMs >= this.#quietMs) this.#starting.clear();

    const events: StatusEvent[] = [];
    for (const [key, status] of next) {
      const was = before?.get(key) ?? null;
      if (was === status) continue;
      const all = [
        this.#told(status, was, this.#starting.has(key)),
        this.#rules.toldBesides?.(status, was) ?? null,
      ];
      if (status.state === 'serving') this.#starting.delete(key);
      for (const told of all) {
        if (told === null || (told.shared && !isFirst)) continue;
        const object = objectOf(status);
        const { type, reason, message } = told;
        if (object !== null) events.push({ object, type, reason, message });
      }
    }
    return events;
  }

  #told(status: S, was: S | null, isStarting: boolean): Told | null {
    const { state, reason } = status;
    if (was?.state === state && (state !== 'invalid' || was.reason === reason)) return null;
    return this.#rules.told(status, was, isStarting);
  }
}
