// Detects the changes between two turns that become Kubernetes Events. Clusters and additional listeners share this mechanism; their
// rules are in cluster-events.ts and listener-events.ts. Pure.
import { isSameList } from '../objects/turn-cache.ts';

export type EventReason =
  | 'Proxied'
  | 'Unhealthy'
  | 'NoNetns'
  | 'Pending'
  | 'Invalid'
  | 'NameInvalid'
  | 'NameConflict'
  | 'NotProxied'
  | 'CertificateNames'
  | 'CertificateExpires'
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

export interface EventDraft extends Omit<StatusEvent, 'object'> {
  /**
   * `true`: all instances see the same change, so only the first live instance reports it. `serving`: the first one with a ready slice.
   */
  readonly shared: boolean | 'serving';
}

interface Status {
  readonly state: string;
  readonly reason: string;
}

export interface StatusChange<S> {
  readonly status: S;
  /** The status of the last turn; null: there was none. */
  readonly was: S | null;
  /** The status existed at the start and has not been `serving` since. */
  readonly isStarting: boolean;
  readonly instance: string;
}

/** The rules for one kind of status. */
export interface EventRules<S extends Status> {
  readonly keyOf: (status: S) => string;
  /** Called after a change of state, or of the reason for `invalid`; null: no Event. */
  readonly stateEvent: (change: StatusChange<S>) => EventDraft | null;
  /** Called for every changed status: the additional Events. */
  readonly extraEvents?: (change: StatusChange<S>) => readonly EventDraft[];
  /** True if the first turns may have no status. The first statuses that appear count as existing at the start. */
  readonly waitsForFirst: boolean;
}

export interface StatusEventsContext<S> {
  /** null if there is no object, or if it is being deleted: its API server is expected to stop. */
  readonly objectOf: (status: S) => EventObject | null;
  /** Whether this instance is the first live one by name. Only that instance reports shared changes. */
  readonly isFirst: boolean;
  /** Whether no live instance before this one has a ready slice of the object. */
  readonly isFirstServing: (status: S) => boolean;
  readonly instance: string;
  /** Monotonic. */
  readonly nowMs: number;
}

/** What the next turn compares with. */
export interface EventMemory<S> {
  /** The statuses of the last turn, as a list and by key. */
  readonly statuses: readonly S[];
  readonly byKey: ReadonlyMap<string, S>;
  /** Keys of the first turn whose status is not `serving` yet. Their change to `serving` is part of the start and causes no Event. */
  readonly starting: ReadonlySet<string>;
  readonly startedAtMs: number;
}

/** How long a change to `serving` counts as part of the start. */
const QUIET_MS = 60_000;

/** The Events for the changes from the last turn to this one. `before` is null in the first turn. */
export function statusEvents<S extends Status>(
  rules: EventRules<S>,
  statuses: readonly S[],
  { objectOf, isFirst, isFirstServing, instance, nowMs }: StatusEventsContext<S>,
  before: EventMemory<S> | null,
): { readonly events: readonly StatusEvent[]; readonly memory: EventMemory<S> | null } {
  const startedAtMs = before?.startedAtMs ?? nowMs;
  const isQuiet = nowMs - startedAtMs < QUIET_MS;
  const isStartOver = !isQuiet && before !== null && before.starting.size > 0;
  if (before !== null && !isStartOver && isSameList(before.statuses, statuses))
    return { events: [], memory: before };
  const next = new Map(statuses.map((status) => [rules.keyOf(status), status]));
  if (before === null && next.size === 0 && rules.waitsForFirst) return { events: [], memory: null };
  const starting = new Set(isQuiet ? (before?.starting ?? next.keys()) : []);

  const events: StatusEvent[] = [];
  for (const [key, status] of next) {
    const was = before?.byKey.get(key) ?? null;
    if (was === status) continue;
    const change = { status, was, isStarting: starting.has(key), instance };
    if (status.state === 'serving') starting.delete(key);
    const all = [
      isNewState(change) ? rules.stateEvent(change) : null,
      ...(rules.extraEvents?.(change) ?? []),
    ];
    for (const draft of all) {
      if (draft === null || (draft.shared === true && !isFirst)) continue;
      if (draft.shared === 'serving' && !isFirstServing(status)) continue;
      const object = objectOf(status);
      const { type, reason, message } = draft;
      if (object !== null) events.push({ object, type, reason, message });
    }
  }
  return { events, memory: { statuses, byKey: next, starting, startedAtMs } };
}

const isNewState = ({ status: { state, reason }, was }: StatusChange<Status>): boolean =>
  was?.state !== state || (state === 'invalid' && was.reason !== reason);
