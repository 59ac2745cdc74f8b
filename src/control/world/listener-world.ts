// Additional listeners and machines in the World: the effective spec of each listener, and the listeners that are being withdrawn. If
// the current spec is invalid, the last valid one from an earlier turn stays in effect. Pure.

import { listenerLabels, markedSelector } from '../objects/listener-labels.ts';
import { ownershipOf } from '../objects/ownership.ts';
import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import type { ListenerReading, ListenerWish } from '../sources/additional-listener.ts';
import { ABSENT_RETRY_MS, type ListenerSnapshot } from '../sources/listener-snapshot.ts';
import type { MachineFacts } from '../sources/machine.ts';
import type { KubeWorld } from './kube-world.ts';
import { type AdvertisedPorts, advertisedPorts } from './listener-advertised-ports.ts';
import { type PreviousEntry, previousEntries } from './listener-previous-entry.ts';
import { MASS_DELETE, type MassDeleteAnswer, massDelete } from './mass-delete-breaker.ts';

export interface JudgedListener {
  readonly reading: ListenerReading;
  /** The current spec if it is valid, else the last valid one; null: no valid spec is known. */
  readonly wish: ListenerWish | null;
  /** Why the current spec is not in effect; empty: it is. */
  readonly problems: readonly string[];
}

export interface ListenerDeparture {
  readonly listener: JudgedListener;
  /** Since when no slice of this instance sends clients here (monotonic). While a slice does, this is the current time. */
  readonly sinceMs: number;
}

export interface ListenerWorld {
  /** A listener that is not in the list no longer exists. */
  readonly complete: boolean;
  /** Sorted by key, without the listeners that are being withdrawn. */
  readonly listeners: readonly JudgedListener[];
  /** By key: listeners that are deleted or being deleted, and whose withdrawal is not finished. */
  readonly departing: ReadonlyMap<string, ListenerDeparture>;
  /** By key: the entry point that an edit replaced, while clients may still use it. */
  readonly former: ReadonlyMap<string, PreviousEntry>;
  /** Ports that clients of any listener may still be sent to. */
  readonly advertised: AdvertisedPorts;
  readonly machines: readonly MachineFacts[];
  readonly machinesKnown: boolean;
  readonly machinesProblem: string | null;
  readonly problems: readonly Problem[];
  /** Since when most listeners have been missing (monotonic). */
  readonly vanishedSinceMs: number | null;
  /** Listener Services that exist without the CRD: which, and since when (monotonic). */
  readonly unexplained: Unexplained | null;
  /** This instance's slices were listed once. They show which port each listener had, so no port is requested before that. */
  readonly slicesSeen: boolean;
}

interface Unexplained {
  readonly listeners: string;
  readonly sinceMs: number;
}

/** Long enough for the source to check again whether the CRD exists. */
const EXPLAINED_MS = 2 * ABSENT_RETRY_MS;

export function listenerWorld(
  snapshot: ListenerSnapshot,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
  { departureMs, allowMassDelete }: { readonly departureMs: number; readonly allowMassDelete: boolean },
): ListenerWorld {
  const marked = markedSelectors(kube);
  const present = presentListeners(snapshot, marked, kube, previous);
  const missing = missingListeners(snapshot, present, previous);
  const breaker = breakerOf(missing, kube, previous, allowMassDelete);
  const { goes, kept } = withdrawals(missing, breaker);
  const departing = departures(goes, present, kube, previous, departureMs);
  const listeners = [...present.values(), ...kept];
  const unexplained = unexplainedServices(snapshot, marked, kube, previous);
  return Object.freeze({
    complete: snapshot.complete && !breaker.trip && isExplained(unexplained, kube),
    listeners: Object.freeze(listeners.toSorted((a, b) => byText(a.reading.key, b.reading.key))),
    departing,
    former: previousEntries(
      protocolsOf(listeners, departing),
      protocolsOf(previous?.listeners ?? [], previous?.departing ?? new Map()),
      previous?.former ?? new Map(),
      kube,
      departureMs,
    ),
    advertised: advertisedPorts(kube, previous?.advertised ?? new Map(), departureMs),
    ...machinesOf(snapshot, previous, listeners.length + departing.size > 0),
    machinesProblem: snapshot.machinesProblem,
    problems: breaker.trip
      ? [...snapshot.problems, { origin: MASS_DELETE, reason: `additional listeners: ${breaker.reason}` }]
      : snapshot.problems,
    vanishedSinceMs: breaker.sinceMs,
    unexplained,
    slicesSeen: kube === null || kube.complete || previous?.slicesSeen === true,
  });
}

/** By key: the listeners of the list that are not being deleted, each with its effective spec. */
function presentListeners(
  snapshot: ListenerSnapshot,
  marked: ReadonlyMap<string, Marked>,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
): ReadonlyMap<string, JudgedListener> {
  const before = new Map(previous?.listeners.map((each) => [each.reading.key, each]));
  const present = new Map<string, JudgedListener>();
  for (const reading of snapshot.listeners) {
    const { key, deleting } = reading;
    if (deleting) continue;
    const listener = judged(reading, before.get(key), marked.get(key));
    const was = before.get(key) ?? previous?.departing.get(key)?.listener;
    if (kube === null || !isOfAnotherCluster(listener, was)) present.set(key, listener);
  }
  return present;
}

/** The listeners of the previous turn that are no longer present. */
interface MissingListeners {
  /** In the list, but to be withdrawn: a deletion is pending, or the listener was recreated for another cluster. */
  readonly deleted: readonly JudgedListener[];
  /** Not in a complete list. */
  readonly vanished: readonly JudgedListener[];
  /** Not in an incomplete list. These may still exist. */
  readonly unknown: readonly JudgedListener[];
}

function missingListeners(
  { complete, listeners }: ListenerSnapshot,
  present: ReadonlyMap<string, JudgedListener>,
  previous: ListenerWorld | null,
): MissingListeners {
  const listed = new Set(listeners.map(({ key }) => key));
  const missing = (previous?.listeners ?? []).filter(({ reading }) => !present.has(reading.key));
  const unlisted = missing.filter(({ reading }) => !listed.has(reading.key));
  return {
    deleted: missing.filter(({ reading }) => listed.has(reading.key)),
    vanished: complete ? unlisted : [],
    unknown: complete ? [] : unlisted,
  };
}

/** Only listeners that vanish from the list count. An explicit deletion is not a mistake. */
function breakerOf(
  { vanished }: MissingListeners,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
  allow: boolean,
): MassDeleteAnswer {
  if (kube === null) return { trip: false, reason: null, sinceMs: null };
  return massDelete({
    ours: previous?.listeners.length ?? 0,
    wouldGo: vanished.length,
    sinceMs: previous?.vanishedSinceMs ?? null,
    nowMs: kube.nowMs,
    allow,
  });
}

function withdrawals(
  { deleted, vanished, unknown }: MissingListeners,
  { trip }: MassDeleteAnswer,
): { readonly goes: readonly JudgedListener[]; readonly kept: readonly JudgedListener[] } {
  return trip
    ? { goes: deleted, kept: [...vanished, ...unknown] }
    : { goes: [...deleted, ...vanished], kept: unknown };
}

function protocolsOf(
  listeners: readonly JudgedListener[],
  departing: ReadonlyMap<string, ListenerDeparture>,
): ReadonlyMap<string, ListenerWish['protocol']> {
  const all = [...listeners, ...Array.from(departing.values(), ({ listener }) => listener)];
  return new Map(
    all.flatMap(({ reading, wish }) => (wish === null ? [] : [[reading.key, wish.protocol] as const])),
  );
}

/**
 * The watch of machines stops with the last listener. Clients of a departing listener, or of one that the mass-delete breaker keeps,
 * still connect, so the last known machines stay in use. A listener that returns uses them too, until machines are listed again.
 */
function machinesOf(
  { machines, machinesKnown }: ListenerSnapshot,
  previous: ListenerWorld | null,
  areWanted: boolean,
): Pick<ListenerWorld, 'machines' | 'machinesKnown'> {
  return areWanted && !machinesKnown && previous?.machinesKnown === true
    ? { machines: previous.machines, machinesKnown: true }
    : { machines, machinesKnown };
}

/** Another instance may see a new CRD first. The Services that it creates are not leftovers. */
function unexplainedServices(
  { kindAbsent = false }: ListenerSnapshot,
  marked: ReadonlyMap<string, Marked>,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
): Unexplained | null {
  if (kube === null || !kindAbsent || marked.size === 0) return null;
  const listeners = [...marked.keys()].sort(byText).join(' ');
  const before = previous?.unexplained ?? null;
  return before?.listeners === listeners ? before : { listeners, sinceMs: kube.nowMs };
}

/** While it is false, the Services may be leftovers of an uninstalled CRD, or the CRD may be new. */
const isExplained = (unexplained: Unexplained | null, kube: KubeWorld | null): boolean =>
  kube === null || unexplained === null || kube.nowMs - unexplained.sinceMs >= EXPLAINED_MS;

/** What a listener's Service records: the digest of the selector, and the cluster of the machines. */
interface MarkedService {
  readonly digest: string;
  readonly cluster: string;
}

/** Reads the record of a listener's Service for the object with this uid; null: the Service has no record for it. */
type Marked = (uid: string | null) => MarkedService | null;

function markedSelectors(kube: KubeWorld | null): ReadonlyMap<string, Marked> {
  const found = new Map<string, Marked>();
  for (const service of kube?.services.values() ?? []) {
    const marks = listenerLabels(service.metadata);
    if (marks === null || found.has(marks.listener)) continue;
    const ownership = ownershipOf(service);
    if (ownership.kind !== 'ours') continue;
    found.set(marks.listener, (uid) => {
      const digest = markedSelector(service.metadata, uid);
      return digest === null ? null : { digest, cluster: ownership.cluster };
    });
  }
  return found;
}

function judged(
  reading: ListenerReading,
  before: JudgedListener | undefined,
  marked: Marked | undefined,
): JudgedListener {
  const { wish, problems, object } = reading;
  // A listener that was recreated under the same name may have any spec.
  const known = before !== undefined && before.reading.object.uid === object.uid ? before : undefined;
  const kept = known?.wish ?? null;
  if (wish === null) return { reading, wish: kept, problems };
  // A listener without a uid comes from a file of the operator, who may change any field.
  if (object.uid === null) return settled(reading, wish, known);
  // A user who may edit a listener must not reach other machines by an edit. From Kubernetes 1.25 on the API server rejects it too.
  const made = marked?.(object.uid) ?? null;
  // The shared record takes precedence: two instances that remember different selectors would overwrite the Service in turns forever.
  const first = made?.digest ?? kept?.selectorDigest ?? null;
  if (first !== null && first !== wish.selectorDigest) {
    const reason = 'spec.selector was changed: Selector is immutable; put it back, or make another listener';
    return { reading, wish: kept, problems: [reason] };
  }
  const cluster = made?.cluster ?? kept?.cluster ?? wish.cluster;
  if (cluster !== wish.cluster) {
    const reason = `spec.clusterName was changed, and is immutable; it was ${cluster}`;
    return { reading, wish: kept, problems: [reason] };
  }
  return settled(reading, wish, known);
}

/**
 * True if the listener was recreated for another cluster while the old one still drains. The old listener is withdrawn first. Otherwise
 * its clients would reach machines of the wrong cluster.
 */
const isOfAnotherCluster = ({ wish }: JudgedListener, was: JudgedListener | undefined): boolean =>
  wish !== null && was?.wish != null && was.wish.cluster !== wish.cluster;

/** Returns the previous object if nothing changed. */
const settled = (
  reading: ListenerReading,
  wish: ListenerWish,
  known: JudgedListener | undefined,
): JudgedListener =>
  known !== undefined && known.reading === reading && known.problems.length === 0
    ? known
    : { reading, wish, problems: [] };

function departures(
  goes: readonly JudgedListener[],
  present: ReadonlyMap<string, JudgedListener>,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
  departureMs: number,
): ReadonlyMap<string, ListenerDeparture> {
  const departing = new Map<string, ListenerDeparture>();
  if (kube === null) return departing;
  const { nowMs } = kube;
  for (const listener of goes)
    if (listener.wish !== null) departing.set(listener.reading.key, { listener, sinceMs: nowMs });
  for (const [key, { listener, sinceMs }] of previous?.departing ?? []) {
    if (present.has(key) || departing.has(key)) continue;
    // While the slice cannot be deleted, the port stays open, because kube-proxy still sends clients to it.
    const since = hasOwnSlice(key, kube) ? nowMs : sinceMs;
    if (nowMs - since < departureMs) departing.set(key, { listener, sinceMs: since });
  }
  return departing;
}

function hasOwnSlice(key: string, { slices, self: { instance } }: KubeWorld): boolean {
  for (const list of slices.ours.values())
    for (const slice of list) if (slice.listener === key && slice.instance === instance) return true;
  return false;
}
