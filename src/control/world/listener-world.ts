// Additional listeners and machines in the World: what each listener wants, with what earlier turns knew where the present one cannot
// be used, and those that are being taken back. Pure.

import { listenerMarks, markedSelector } from '../objects/listener-marks.ts';
import { ownershipOf } from '../objects/ownership.ts';
import { sliceIndex } from '../objects/slice-index.ts';
import { byText } from '../objects/text-order.ts';
import type { ListenerReading, ListenerWish } from '../sources/additional-listener.ts';
import type { Problem } from '../sources/cluster-source.ts';
import { ABSENT_RETRY_MS, type ListenerSnapshot } from '../sources/listener-snapshot.ts';
import type { MachineFacts } from '../sources/machine.ts';
import type { KubeWorld } from './kube-world.ts';
import { type AdvertisedPorts, advertisedPorts } from './listener-advertised-ports.ts';
import { type FormerWay, formerWays } from './listener-former-way.ts';
import { MASS_DELETE, massDelete } from './mass-delete-breaker.ts';

export interface JudgedListener {
  readonly reading: ListenerReading;
  /** What it asks for now, or last asked for in a way that could be used; null: never, as far as we know. */
  readonly wish: ListenerWish | null;
  /** Why what it asks for now is not done; empty: it is. */
  readonly problems: readonly string[];
}

export interface ListenerDeparture {
  readonly listener: JudgedListener;
  /** Since when no slice of ours has sent clients here (monotonic); now, while one still does. */
  readonly sinceMs: number;
}

export interface ListenerWorld {
  /** One that is not here is gone. */
  readonly complete: boolean;
  /** Sorted by key; those that are being taken back are not among them. */
  readonly listeners: readonly JudgedListener[];
  /** By key: gone, or asked to go, and still to be taken back in order. */
  readonly departing: ReadonlyMap<string, ListenerDeparture>;
  /** By key: the way in that an edit has replaced, while clients may still come by it. */
  readonly former: ReadonlyMap<string, FormerWay>;
  /** Where clients of listeners may still be sent to, of whichever listener. */
  readonly advertised: AdvertisedPorts;
  readonly machines: readonly MachineFacts[];
  readonly machinesKnown: boolean;
  readonly machinesProblem: string | null;
  readonly problems: readonly Problem[];
  /** Since when most listeners have been missing (monotonic). */
  readonly vanishedSinceMs: number | null;
  /** Services of listeners although there is no definition: which, and since when (monotonic). */
  readonly unexplained: Unexplained | null;
  /** Our own slices were seen once: they say which port each listener had. Before that none is asked for. */
  readonly slicesSeen: boolean;
}

interface Unexplained {
  readonly listeners: string;
  readonly sinceMs: number;
}

/** By then we have asked again whether there is a definition. */
const EXPLAINED_MS = 2 * ABSENT_RETRY_MS;

export function listenerWorld(
  snapshot: ListenerSnapshot,
  kube: KubeWorld | null,
  previous: ListenerWorld | null,
  settings: { readonly departureMs: number; readonly allowMassDelete: boolean },
): ListenerWorld {
  const before = new Map(previous?.listeners.map((each) => [each.reading.key, each]));
  const marked = markedSelectors(kube);
  const listeners = snapshot.listeners
    .filter(({ deleting }) => !deleting)
    .map((reading) => judged(reading, before.get(reading.key), marked.get(reading.key)))
    .filter((each) => kube === null || !isOfAnotherCluster(each, before, previous));
  const present = new Set(listeners.map(({ reading }) => reading.key));
  // What there was under this name goes, whether or not the list says of everything.
  const deleting = new Set(snapshot.listeners.map(({ key }) => key).filter((key) => !present.has(key)));
  const missing = [...before.values()].filter(({ reading: { key } }) => !present.has(key));
  // What cannot be heard may be there; what is being deleted says so itself.
  const gone = missing.filter(({ reading: { key } }) => snapshot.complete || deleting.has(key));
  const breaker =
    kube === null
      ? { trip: false, reason: null, sinceMs: null }
      : massDelete({
          ours: before.size,
          wouldGo: gone.filter(({ reading: { key } }) => !deleting.has(key)).length,
          sinceMs: previous?.vanishedSinceMs ?? null,
          nowMs: kube.nowMs,
          allow: settings.allowMassDelete,
        });
  const goes = new Set(breaker.trip ? gone.filter(({ reading: { key } }) => deleting.has(key)) : gone);
  const kept = missing.filter((each) => !goes.has(each));
  const departing = departures([...goes], present, kube, previous, settings.departureMs);
  const former = formerWays(
    protocolsOf([...listeners, ...kept], departing),
    protocolsOf(previous?.listeners ?? [], previous?.departing ?? new Map()),
    previous?.former ?? new Map(),
    kube,
    settings.departureMs,
  );
  const unexplained = unexplainedServices(snapshot, marked, kube, previous);
  const isExplained =
    kube === null || unexplained === null || kube.nowMs - unexplained.sinceMs >= EXPLAINED_MS;
  return Object.freeze({
    complete: snapshot.complete && !breaker.trip && isExplained,
    listeners: Object.freeze([...listeners, ...kept].sort((a, b) => byText(a.reading.key, b.reading.key))),
    departing,
    former,
    advertised: advertisedPorts(kube, previous?.advertised ?? new Map(), settings.departureMs),
    ...machinesOf(snapshot, previous, present.size + kept.length + departing.size > 0),
    machinesProblem: snapshot.machinesProblem,
    problems: breaker.trip
      ? [...snapshot.problems, { origin: MASS_DELETE, reason: `additional listeners: ${breaker.reason}` }]
      : snapshot.problems,
    vanishedSinceMs: breaker.sinceMs,
    unexplained,
    slicesSeen: kube === null || kube.complete || previous?.slicesSeen === true,
  });
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
 * With the last listener goes the watch of machines. Clients of one that goes, or that is not believed to be gone, come all the same;
 * and one that comes back leads where it led until they are listed again.
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

/** Another instance may have heard of a new definition first: its Services are no leftovers. */
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

/** Of what its Service was made with: the digest of its selector, and whose machines it leads to. */
interface MarkedService {
  readonly digest: string;
  readonly cluster: string;
}

/** By listener: what its Service says, as a function of the object it was made for; null: nothing. */
type Marked = (uid: string | null) => MarkedService | null;

function markedSelectors(kube: KubeWorld | null): ReadonlyMap<string, Marked> {
  const found = new Map<string, Marked>();
  for (const service of kube?.services.values() ?? []) {
    const marks = listenerMarks(service.metadata);
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
  // Made anew under its name, it may ask for anything.
  const known = before !== undefined && before.reading.object.uid === object.uid ? before : undefined;
  const kept = known?.wish ?? null;
  if (wish === null) return { reading, wish: kept, problems };
  // Whoever writes our files may have us reach anything.
  if (object.uid === null) return settled(reading, wish, known);
  // The API refuses that from Kubernetes 1.25 on; whoever may edit a listener must not reach other machines by it.
  const made = marked?.(object.uid) ?? null;
  // What instances share goes first: two that remember different selectors would write their Service in turns for ever.
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
 * Made anew for another cluster, while the one before still has clients to send elsewhere: by its port they would reach machines of a
 * cluster that they never asked for. So the one before goes first, in order.
 */
function isOfAnotherCluster(
  { reading, wish }: JudgedListener,
  before: ReadonlyMap<string, JudgedListener>,
  previous: ListenerWorld | null,
): boolean {
  const was = before.get(reading.key) ?? previous?.departing.get(reading.key)?.listener;
  return wish !== null && was?.wish != null && was.wish.cluster !== wish.cluster;
}

/** The same object as before where nothing is new. */
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
  present: ReadonlySet<string>,
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
    // A slice that cannot be withdrawn keeps its port: nobody is sent to where nothing is.
    const since = hasOwnSlice(key, kube) ? nowMs : sinceMs;
    if (nowMs - since < departureMs) departing.set(key, { listener, sinceMs: since });
  }
  return departing;
}

function hasOwnSlice(key: string, { slices, self: { instance } }: KubeWorld): boolean {
  for (const list of sliceIndex(slices).ours.values())
    for (const slice of list) if (slice.listener === key && slice.instance === instance) return true;
  return false;
}
