// All input of one turn of the loop, as one frozen value. It is sorted, so equal observations give equal values. Where the
// current observation is incomplete, it keeps the data of earlier turns. Pure.
import type { CertificateReading } from '../../health/server-certificate.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry, NetnsSnapshot } from '../../netns/netns-directory.ts';
import type { PortOutcome } from '../../routing/route-table.ts';
import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import { isSameList } from '../objects/turn-cache.ts';
import { factsStillHold, keyOf, originOf } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading, SourceSnapshot } from '../sources/cluster-source.ts';
import { type ListenerSnapshot, NO_LISTENERS } from '../sources/listener-snapshot.ts';
import type { MachineFacts } from '../sources/machine.ts';
import { type Gone, withoutMassVanishing } from './cluster-vanishing.ts';
import type { KubeWorld } from './kube-world.ts';
import { type Departure, type Departures, departures } from './last-slice.ts';
import { type ListenerWorld, listenerWorld } from './listener-world.ts';

export interface Observed {
  readonly source: SourceSnapshot;
  readonly netns: NetnsSnapshot;
  /** By backend key. A backend without an entry has not been checked yet. */
  readonly health: ReadonlyMap<string, TargetHealth>;
  /** By backend key; absent: no certificate is read. */
  readonly certificates?: ReadonlyMap<string, CertificateReading>;
  /** null without a Kubernetes API: nothing is published, so nothing has to be withdrawn. */
  readonly kube?: KubeWorld | null;
  /** The outcome of each requested port, by name; absent: nothing is known yet. */
  readonly ports?: ReadonlyMap<string, PortOutcome>;
  /** Absent: there is no source of listeners. */
  readonly listeners?: ListenerSnapshot;
  /** The Machines of control planes. Absent: there is no source of them. */
  readonly controlPlanes?: readonly MachineFacts[];
  /** Absent: they are known, or nothing reads them. */
  readonly controlPlanesKnown?: boolean;
}

/** A cluster that is no longer proxied. Its route stays until no slice of this instance sends clients here. */
export interface ClusterDeparture extends Departure {
  readonly facts: ClusterFacts;
}

export interface WorldSettings {
  /** How long a route stays after our slice is deleted: all nodes need time to see the deletion. */
  readonly departureMs: number;
  readonly allowMassDelete: boolean;
}

export interface World {
  /** False if any observation failed. While it is false, a missing object may still exist, and nothing may be deleted as orphaned. */
  readonly complete: boolean;
  readonly netnsComplete: boolean;
  /** True: the list is complete, so a cluster that is not in it does not exist. */
  readonly clustersComplete: boolean;
  /** One per key, sorted by key. */
  readonly clusters: readonly ClusterReading[];
  /** By key: the last valid facts of each cluster that was proxied once, until the cluster is deleted or is no longer proxied. */
  readonly lastKnown: ReadonlyMap<string, ClusterFacts>;
  readonly departing: Departures<ClusterDeparture>;
  /** Since when most clusters have been missing (monotonic). The mass-delete breaker keeps them for some minutes. */
  readonly vanishedSinceMs: number | null;
  /** By key: clusters that vanished within the last ten seconds. */
  readonly recentlyGone: ReadonlyMap<string, Gone>;
  readonly kube: KubeWorld | null;
  readonly ports: ReadonlyMap<string, PortOutcome>;
  /** Listeners have their own completeness: a failed observation of listeners does not affect clusters. */
  readonly listeners: ListenerWorld;
  /** The Machines of the control planes of all clusters; empty while they are unreadable. */
  readonly controlPlanes: readonly MachineFacts[];
  /** False while these Machines may still be read: until then, a cluster that only they reach is not down. */
  readonly controlPlanesKnown: boolean;
  /** Sorted by name. */
  readonly netns: readonly NetnsEntry[];
  readonly netnsProblems: NetnsSnapshot['problems'];
  readonly health: ReadonlyMap<string, TargetHealth>;
  /** By backend key. A backend without an entry was not read yet. */
  readonly certificates: ReadonlyMap<string, CertificateReading>;
  readonly sourceProblems: readonly Problem[];
}

const NO_MACHINES: readonly MachineFacts[] = Object.freeze([]);
/** Without publishing, no route has to stay for a withdrawal. */
const UNPUBLISHED: WorldSettings = { departureMs: 0, allowMassDelete: false };

export function worldOf(
  observed: Observed,
  previous: World | null,
  settings: WorldSettings = UNPUBLISHED,
): World {
  const { netns, health, kube = null } = observed;
  const {
    source,
    vanishedSinceMs,
    recent: recentlyGone,
  } = withoutMassVanishing({
    source: observed.source,
    before: kube === null || previous === null ? null : proxiedOnce(previous),
    sinceMs: previous?.vanishedSinceMs ?? null,
    recent: previous?.recentlyGone ?? new Map(),
    nowMs: kube?.nowMs ?? 0,
    allow: settings.allowMassDelete,
  });
  const clusters = sortedReadings(source.clusters);
  const lastKnown = lastKnownFacts(clusters, source.complete, previous?.lastKnown ?? new Map());
  const listeners = listenerWorld(
    observed.listeners ?? NO_LISTENERS,
    kube,
    previous?.listeners ?? null,
    settings,
  );
  return Object.freeze({
    complete: source.complete && netns.complete && (kube?.complete ?? true),
    netnsComplete: netns.complete,
    clustersComplete: source.complete,
    clusters,
    lastKnown,
    departing: clusterDepartures(clusters, kube, previous, settings.departureMs),
    vanishedSinceMs,
    recentlyGone,
    kube,
    ports: new Map(observed.ports),
    listeners,
    controlPlanes: observed.controlPlanes ?? NO_MACHINES,
    controlPlanesKnown: observed.controlPlanesKnown ?? true,
    netns: knownNetns(netns, previous?.netns ?? []),
    netnsProblems: sameOr(
      previous?.netnsProblems,
      [...netns.problems].sort((a, b) => byText(a.name, b.name)),
    ),
    // A copy, because the prober continues to write to its own map.
    health: new Map(health),
    certificates: observed.certificates ?? new Map(),
    sourceProblems: Object.freeze(
      [...source.problems, ...listeners.problems].sort(
        (a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason),
      ),
    ),
  });
}

/** Clusters that have a route. Clusters that were never valid, or are not proxied, may disappear at any time. */
const proxiedOnce = ({ clusters, lastKnown }: World): readonly ClusterReading[] =>
  clusters.filter((reading) => lastKnown.has(keyOf(reading)));

function sortedReadings(readings: readonly ClusterReading[]): readonly ClusterReading[] {
  const sorted = [...readings].sort((a, b) => byText(keyOf(a), keyOf(b)) || byText(originOf(a), originOf(b)));
  // Sources deliver each key once. If one does not, the first reading wins, which is the same on all instances.
  return Object.freeze(sorted.filter((reading, i) => i === 0 || keyOf(sorted[i - 1]!) !== keyOf(reading)));
}

function lastKnownFacts(
  clusters: readonly ClusterReading[],
  complete: boolean,
  before: ReadonlyMap<string, ClusterFacts>,
): ReadonlyMap<string, ClusterFacts> {
  const facts = new Map<string, ClusterFacts>(complete ? [] : before);
  for (const reading of clusters) {
    const key = keyOf(reading);
    const known = before.get(key);
    switch (reading.kind) {
      case 'proxied':
        facts.set(key, reading.facts);
        break;
      case 'not-proxied':
        // A user made this edit. If the cluster is proxied again, its reading contains new facts.
        facts.delete(key);
        break;
      case 'pending':
      case 'invalid':
        if (known !== undefined && factsStillHold(reading, known)) facts.set(key, known);
        else facts.delete(key);
        break;
    }
  }
  return facts;
}

/** An unreadable directory removes no netns: the earlier entries stay, unless a current entry or problem replaces them. */
function knownNetns(now: NetnsSnapshot, before: readonly NetnsEntry[]): readonly NetnsEntry[] {
  const byName = new Map<string, NetnsEntry>();
  if (!now.complete) {
    for (const entry of before) byName.set(entry.name, entry);
    for (const { name } of now.problems) byName.delete(name);
  }
  for (const entry of now.entries) byName.set(entry.name, entry);
  return sameOr(
    before,
    [...byName.values()].sort((a, b) => byText(a.name, b.name)),
  );
}

/** Returns the previous list if its items are identical, so that values derived from it stay valid. */
function sameOr<T>(before: readonly T[] | undefined, now: readonly T[]): readonly T[] {
  return before !== undefined && isSameList(before, now) ? before : Object.freeze(now);
}

/** Clusters that are no longer proxied, until their withdrawal is finished. A deleted cluster needs no withdrawal. */
function clusterDepartures(
  clusters: readonly ClusterReading[],
  kube: KubeWorld | null,
  previous: World | null,
  departureMs: number,
): Departures<ClusterDeparture> {
  const leaving = new Map<string, ClusterDeparture>();
  const left = new Map<string, ClusterDeparture>();
  if (kube === null || previous === null) return leaving;
  for (const reading of clusters) {
    if (reading.kind !== 'not-proxied') continue;
    const { key } = reading;
    const facts = previous.lastKnown.get(key);
    const before = previous.departing.get(key);
    if (facts !== undefined) leaving.set(key, { facts, sinceMs: kube.nowMs });
    else if (before !== undefined) left.set(key, before);
  }
  const { slices, self } = kube;
  const hasOwnSlice = (_key: string, { facts }: ClusterDeparture) =>
    slices.ours.get(facts.name)?.some(({ instance }) => instance === self.instance) ?? false;
  return departures(leaving, left, hasOwnSlice, { kube, departureMs });
}
