// Additional listeners and machines in the World: the effective spec of each listener, and the listeners that are being withdrawn. If
// the current spec is invalid, the last valid one from an earlier turn stays in effect. Pure.

import { listenerLabels, recordedSelector } from '../objects/listener-labels.ts';
import { ownershipOf } from '../objects/ownership.ts';
import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import type { ListenerDefinition, ListenerReading } from '../sources/additional-listener.ts';
import { ABSENT_RETRY_MS, type ListenerSnapshot } from '../sources/listener-snapshot.ts';
import type { MachineFacts } from '../sources/machine.ts';
import type { KubeWorld } from './kube-world.ts';
import {
  type AdvertisedPorts,
  advertisedPorts,
  type Departure,
  type Departures,
  departures,
  listenerSliceUse,
  type SliceUse,
} from './last-slice.ts';
import { type PreviousEntry, previousEntries } from './listener-previous-entry.ts';
import { MASS_DELETE, type MassDeleteAnswer, massDelete } from './mass-delete-breaker.ts';

export interface EffectiveListener {
  readonly reading: ListenerReading;
  /** The current spec if it is valid, else the last valid one; null: no valid spec is known. */
  readonly definition: ListenerDefinition | null;
  /** Why the current spec is not in effect; empty: it is. */
  readonly problems: readonly string[];
}

export interface ListenerDeparture extends Departure {
  readonly listener: EffectiveListener;
}

export interface ListenerWorld {
  /** A listener that is not in the list no longer exists. */
  readonly complete: boolean;
  /** Sorted by key, without the listeners that are being withdrawn. */
  readonly listeners: readonly EffectiveListener[];
  /** By key: listeners that are deleted or being deleted, and whose withdrawal is not finished. */
  readonly departing: Departures<ListenerDeparture>;
  /** By key: the entry point that an edit replaced, while clients may still use it. */
  readonly previousEntries: Departures<PreviousEntry>;
  /** Ports to which a slice may still send clients of any listener. */
  readonly advertised: AdvertisedPorts;
  readonly machines: readonly MachineFacts[];
  readonly machinesKnown: boolean;
  readonly machinesProblem: string | null;
  readonly problems: readonly Problem[];
  /** Since when most listeners have been missing (monotonic). */
  readonly vanishedSinceMs: number | null;
  /** Set while Services of listeners exist although the CRD is not installed: their listeners, and since when (monotonic). */
  readonly servicesWithoutKind: ServicesWithoutKind | null;
  /** This instance's slices were listed once. They show which port each listener had, so no port is requested before that. */
  readonly slicesListed: boolean;
}

interface ServicesWithoutKind {
  readonly listeners: string;
  readonly sinceMs: number;
}

/** In this time the source checks again whether the CRD exists. */
const KIND_RECHECK_MS = 2 * ABSENT_RETRY_MS;

export function listenerWorld(
  snapshot: ListenerSnapshot,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
  { departureMs, allowMassDelete }: { readonly departureMs: number; readonly allowMassDelete: boolean },
): ListenerWorld {
  const records = selectorRecords(kube);
  const present = presentListeners(snapshot, records, kube, previous);
  const missing = missingListeners(snapshot, present, previous);
  const breaker = breakerOf(missing, kube, previous, allowMassDelete);
  const { withdrawn, kept } = withdrawals(missing, breaker);
  // Without a Kubernetes API nothing is published, so no slice sends clients to a listener.
  const use = kube && listenerSliceUse(kube, departureMs);
  const departing = listenerDepartures(withdrawn, present, previous, use);
  const listeners = [...present.values(), ...kept];
  const servicesWithoutKind = listenerServicesWithoutKind(snapshot, records, kube, previous);
  return Object.freeze({
    complete: snapshot.complete && !breaker.trip && isKindCertain(servicesWithoutKind, kube),
    listeners: Object.freeze(listeners.toSorted((a, b) => byText(a.reading.key, b.reading.key))),
    departing,
    previousEntries: previousEntries(
      protocolsOf(listeners, departing),
      protocolsOf(previous?.listeners ?? [], previous?.departing ?? new Map()),
      previous?.previousEntries ?? new Map(),
      use,
    ),
    advertised: advertisedPorts(previous?.advertised ?? new Map(), use),
    ...machinesOf(snapshot, previous, listeners.length + departing.size > 0),
    machinesProblem: snapshot.machinesProblem,
    problems: breaker.trip
      ? [...snapshot.problems, { origin: MASS_DELETE, reason: `additional listeners: ${breaker.reason}` }]
      : snapshot.problems,
    vanishedSinceMs: breaker.sinceMs,
    servicesWithoutKind,
    slicesListed: kube === null || kube.complete || previous?.slicesListed === true,
  });
}

/** By key: the listeners of the list that are not being deleted, each with its effective spec. */
function presentListeners(
  snapshot: ListenerSnapshot,
  records: ReadonlyMap<string, RecordLookup>,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
): ReadonlyMap<string, EffectiveListener> {
  const before = new Map(previous?.listeners.map((each) => [each.reading.key, each]));
  const present = new Map<string, EffectiveListener>();
  for (const reading of snapshot.listeners) {
    const { key, deleting } = reading;
    if (deleting) continue;
    const listener = effectiveListener(reading, before.get(key), records.get(key));
    const was = before.get(key) ?? previous?.departing.get(key)?.listener;
    if (kube === null || !isOfAnotherCluster(listener, was)) present.set(key, listener);
  }
  return present;
}

/** The listeners of the previous turn that are no longer present. */
interface MissingListeners {
  /** In the list, but to be withdrawn: a deletion is pending, or the listener was recreated for another cluster. */
  readonly deleted: readonly EffectiveListener[];
  /** Not in a complete list. */
  readonly vanished: readonly EffectiveListener[];
  /** Not in an incomplete list. These may still exist. */
  readonly unknown: readonly EffectiveListener[];
}

function missingListeners(
  { complete, listeners }: ListenerSnapshot,
  present: ReadonlyMap<string, EffectiveListener>,
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

/**
 * Only listeners that vanish from the list in one turn count, as after a wrong or empty list. Explicit deletions are not a mistake, and the
 * watch reports them one by one. So listeners have no window of several turns, as clusters have in cluster-vanishing.ts.
 */
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
): { readonly withdrawn: readonly EffectiveListener[]; readonly kept: readonly EffectiveListener[] } {
  return trip
    ? { withdrawn: deleted, kept: [...vanished, ...unknown] }
    : { withdrawn: [...deleted, ...vanished], kept: unknown };
}

function protocolsOf(
  listeners: readonly EffectiveListener[],
  departing: Departures<ListenerDeparture>,
): ReadonlyMap<string, ListenerDefinition['protocol']> {
  const all = [...listeners, ...Array.from(departing.values(), ({ listener }) => listener)];
  return new Map(
    all.flatMap(({ reading, definition }) =>
      definition === null ? [] : [[reading.key, definition.protocol] as const],
    ),
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

/** Another instance may see a newly installed CRD first. The Services that it creates must not be deleted as leftovers. */
function listenerServicesWithoutKind(
  { kindAbsent = false }: ListenerSnapshot,
  records: ReadonlyMap<string, RecordLookup>,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
): ServicesWithoutKind | null {
  if (kube === null || !kindAbsent || records.size === 0) return null;
  const listeners = [...records.keys()].sort(byText).join(' ');
  const before = previous?.servicesWithoutKind ?? null;
  return before?.listeners === listeners ? before : { listeners, sinceMs: kube.nowMs };
}

/** False while it is unknown whether such Services are leftovers of an uninstalled CRD, or belong to a new CRD. */
const isKindCertain = (servicesWithoutKind: ServicesWithoutKind | null, kube: KubeWorld | null): boolean =>
  kube === null ||
  servicesWithoutKind === null ||
  kube.nowMs - servicesWithoutKind.sinceMs >= KIND_RECHECK_MS;

/** What a listener's Service records: the digest of the selector, and the cluster of the machines. */
interface SelectorRecord {
  readonly digest: string;
  readonly cluster: string;
}

/** Reads the record of a listener's Service for the object with this uid; null: the Service has no record for it. */
type RecordLookup = (uid: string | null) => SelectorRecord | null;

function selectorRecords(kube: KubeWorld | null): ReadonlyMap<string, RecordLookup> {
  const found = new Map<string, RecordLookup>();
  for (const service of kube?.services.values() ?? []) {
    const labels = listenerLabels(service.metadata);
    if (labels === null || found.has(labels.listener)) continue;
    const ownership = ownershipOf(service);
    if (ownership.kind !== 'ours') continue;
    found.set(labels.listener, (uid) => {
      const digest = recordedSelector(service.metadata, uid);
      return digest === null ? null : { digest, cluster: ownership.cluster };
    });
  }
  return found;
}

function effectiveListener(
  reading: ListenerReading,
  before: EffectiveListener | undefined,
  recordFor: RecordLookup | undefined,
): EffectiveListener {
  const { definition, problems, object } = reading;
  // Only a listener with the same uid counts: one that was recreated under the same name may have any spec.
  const known = before !== undefined && before.reading.object.uid === object.uid ? before : undefined;
  const kept = known?.definition ?? null;
  if (definition === null) return { reading, definition: kept, problems };
  // A listener without a uid comes from a file of the operator, who may change any field.
  if (object.uid === null) return settled(reading, definition, known);
  // A user who may edit a listener must not reach other machines by an edit. API servers from Kubernetes 1.25 on reject such an edit too.
  const record = recordFor?.(object.uid) ?? null;
  // The shared record takes precedence: two instances that remember different selectors would overwrite the Service in turns forever.
  const first = record?.digest ?? kept?.selectorDigest ?? null;
  if (first !== null && first !== definition.selectorDigest) {
    const reason = 'spec.selector was changed: Selector is immutable; restore it, or create another listener';
    return { reading, definition: kept, problems: [reason] };
  }
  const cluster = record?.cluster ?? kept?.cluster ?? definition.cluster;
  if (cluster !== definition.cluster) {
    const reason = `spec.clusterName was changed, but it is immutable; restore ${cluster}`;
    return { reading, definition: kept, problems: [reason] };
  }
  return settled(reading, definition, known);
}

/**
 * True if the listener was recreated for another cluster while the old one still drains. The old listener is withdrawn first. Otherwise
 * its clients would reach machines of the wrong cluster.
 */
const isOfAnotherCluster = ({ definition }: EffectiveListener, was: EffectiveListener | undefined): boolean =>
  definition !== null && was?.definition != null && was.definition.cluster !== definition.cluster;

/** Returns the previous object if nothing changed. */
const settled = (
  reading: ListenerReading,
  definition: ListenerDefinition,
  known: EffectiveListener | undefined,
): EffectiveListener =>
  known !== undefined && known.reading === reading && known.problems.length === 0
    ? known
    : { reading, definition, problems: [] };

function listenerDepartures(
  withdrawn: readonly EffectiveListener[],
  present: ReadonlyMap<string, EffectiveListener>,
  previous: ListenerWorld | null,
  use: SliceUse | null,
): Departures<ListenerDeparture> {
  const leaving = new Map<string, ListenerDeparture>();
  if (use === null) return leaving;
  const { kube, ownSlices } = use;
  for (const listener of withdrawn)
    if (listener.definition !== null) leaving.set(listener.reading.key, { listener, sinceMs: kube.nowMs });
  const left = new Map([...(previous?.departing ?? [])].filter(([key]) => !present.has(key)));
  const hasOwnSlice = (key: string) => ownSlices.some(({ listener }) => listener === key);
  return departures(leaving, left, hasOwnSlice, use);
}
