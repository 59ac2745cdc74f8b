// Detects the changes between two turns that become Kubernetes Events. Clusters and additional listeners share this mechanism; their
// rules are in cluster-events.ts and listener-events.ts.

export type EventReason =
  | 'Proxied'
  | 'Unhealthy'
  | 'NoNetns'
  | 'Pending'
  | 'Invalid'
  | 'NameInvalid'
  | 'NameConflict'
  | 'NotProxied'
  /** Additional listeners only. */
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
  /** All instances see the same change, so only the first live instance reports it. */
  readonly shared: boolean;
}

interface Status {
  readonly state: string;
  readonly reason: string;
}

/** The rules for one kind of status. */
export interface EventRules<S extends Status> {
  readonly keyOf: (status: S) => string;
  /** Called after a change of state, or of the reason for `invalid`; null: no Event. */
  readonly told: (status: S, was: S | null, isStarting: boolean) => Told | null;
  /** Called for every changed status; null: no additional Event. */
  readonly toldBesides?: (status: S, was: S | null) => Told | null;
  /** The first turns may be empty. The first statuses that appear then existed before the start. */
  readonly waitsForFirst: boolean;
}

export interface StatusEventsSettings {
  readonly now: () => number;
  /** After a start, every status becomes `serving` again. During this time, that causes no Event. */
  readonly quietMs?: number;
}

export interface StatusEventsContext<S> {
  /** null without an object, or while it is being deleted: its API server is expected to stop then. */
  readonly objectOf: (status: S) => EventObject | null;
  /** Whether this instance is the first live one by name. Only that instance reports shared changes. */
  readonly isFirst: boolean;
}

const QUIET_MS = 60_000;

export class StatusEvents<S extends Status> {
  readonly #rules: EventRules<S>;
  readonly #now: () => number;
  readonly #quietMs: number;
  /** The statuses of the last turn. */
  #before: ReadonlyMap<string, S> | null = null;
  /** Keys of the first turn that are not serving yet. Their change to `serving` is part of the start. */
  #starting = new Set<string>();
  #startedAtMs = 0;

  constructor(rules: EventRules<S>, { now, quietMs = QUIET_MS }: StatusEventsSettings) {
    this.#rules = rules;
    this.#now = now;
    this.#quietMs = quietMs;
  }

  /** The Events for the changes from the last turn to this one. */
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
