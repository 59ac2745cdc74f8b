// Everything one turn of the loop decides from, as one frozen value: sorted, so that equal observations are equal values,
// and with what earlier turns knew where the present ones cannot tell. Pure.
import type { TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry, NetnsSnapshot } from '../../netns/netns-snapshot.ts';
import type { PortOutcome } from '../../routing/route-table.ts';
import { sliceName } from '../objects/instance-name.ts';
import { sliceOf } from '../objects/slice-index.ts';
import { byText } from '../objects/text-order.ts';
import { keyOf, originOf, speaksFor } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading, Problem, SourceSnapshot } from '../sources/cluster-source.ts';
import { type ListenerSnapshot, NO_LISTENERS } from '../sources/listener-snapshot.ts';
import { type Gone, withoutMassVanishing } from './cluster-vanishing.ts';
import type { KubeWorld } from './kube-world.ts';
import { type ListenerWorld, listenerWorld } from './listener-world.ts';

export interface Observed {
  readonly source: SourceSnapshot;
  readonly netns: NetnsSnapshot;
  /** By backend key; a backend that is not in it counts as down. */
  readonly health: ReadonlyMap<string, TargetHealth>;
  /** null where there is no Kubernetes API: then nothing is published, and nothing has to be taken back in order. */
  readonly kube?: KubeWorld | null;
  /** What came of each port that was asked for, by name; absent: nothing is known yet. */
  readonly ports?: ReadonlyMap<string, PortOutcome>;
  /** Absent: there is nowhere to look for any. */
  readonly listeners?: ListenerSnapshot;
}

/** A cluster that is no longer proxied: its route stays until clients were sent elsewhere. */
export interface Departure {
  readonly facts: ClusterFacts;
  /** Since when no slice of ours has sent clients here; now, while one still does. */
  readonly sinceMs: number;
}

export interface WorldSettings {
  /** From "our slice is gone" to "no route": so long every node may take to hear of it. */
  readonly departureMs: number;
  readonly allowMassDelete: boolean;
}

export interface World {
  /** False while anything could not be observed: then an absence proves nothing, and nothing may be cleaned up. */
  readonly complete: boolean;
  readonly netnsComplete: boolean;
  /** A cluster that is not here is gone. */
  readonly clustersComplete: boolean;
  /** One per key, sorted by it. */
  readonly clusters: readonly ClusterReading[];
  /** By key: what was last known of each object that was proxied once, until it is gone or asks not to be proxied. */
  readonly lastKnown: ReadonlyMap<string, ClusterFacts>;
  /** By key. */
  readonly departing: ReadonlyMap<string, Departure>;
  /** Since when most of the clusters have been missing, so that they are kept all the same (monotonic). */
  readonly vanishedSinceMs: number | null;
  /** By key: those that went a moment ago. */
  readonly recentlyGone: ReadonlyMap<string, Gone>;
  readonly kube: KubeWorld | null;
  readonly ports: ReadonlyMap<string, PortOutcome>;
  /** What cannot be told of them says nothing about clusters: they have a completeness of their own. */
  readonly listeners: ListenerWorld;
  /** Sorted by name. */
  readonly netns: readonly NetnsEntry[];
  readonly netnsProblems: NetnsSnapshot['problems'];
  readonly health: ReadonlyMap<string, TargetHealth>;
  readonly sourceProblems: readonly Problem[];
}

/** Where nothing is published nothing has to be taken back either. */
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
    departing: departures(clusters, kube, previous, settings.departureMs),
    vanishedSinceMs,
    recentlyGone,
    kube,
    ports: new Map(observed.ports),
    listeners,
    netns: knownNetns(netns, previous?.netns ?? []),
    netnsProblems: sameOr(
      previous?.netnsProblems,
      [...netns.problems].sort((a, b) => byText(a.name, b.name)),
    ),
    // A copy: the prober goes on writing to its own.
    health: new Map(health),
    sourceProblems: Object.freeze(
      [...source.problems, ...listeners.problems].sort(
        (a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason),
      ),
    ),
  });
}

/** Those with something to lose: what never was right, or is not proxied, may come and go. */
const proxiedOnce = ({ clusters, lastKnown }: World): readonly ClusterReading[] =>
  clusters.filter((reading) => lastKnown.has(keyOf(reading)));

function sortedReadings(readings: readonly ClusterReading[]): readonly ClusterReading[] {
  const sorted = [...readings].sort((a, b) => byText(keyOf(a), keyOf(b)) || byText(originOf(a), originOf(b)));
  // Sources hand over each key once; should one not, the first counts, and it is the same on every instance.
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
        // Somebody decided that; should it be proxied again, its facts come with it.
        facts.delete(key);
        break;
      case 'pending':
      case 'invalid':
        if (known !== undefined && speaksFor(reading, known)) facts.set(key, known);
        else facts.delete(key);
        break;
    }
  }
  return facts;
}

/** A directory that cannot be read takes no netns away: what it held before stands, below what can be seen of it now. */
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

/** The list before, if it holds the very same: what is derived from it need not be derived again. */
function sameOr<T>(before: readonly T[] | undefined, now: readonly T[]): readonly T[] {
  const same = before?.length === now.length && now.every((item, i) => item === before[i]);
  return same ? before : Object.freeze(now);
}

/** Those that were proxied and are not any more, as long as the withdrawal takes. A cluster that is gone needs none. */
function departures(
  clusters: readonly ClusterReading[],
  kube: KubeWorld | null,
  previous: World | null,
  departureMs: number,
): ReadonlyMap<string, Departure> {
  const departing = new Map<string, Departure>();
  if (kube === null || previous === null) return departing;
  for (const reading of clusters) {
    if (reading.kind !== 'not-proxied') continue;
    const before = previous.departing.get(reading.key);
    const facts = previous.lastKnown.get(reading.key) ?? before?.facts;
    if (facts === undefined) continue;
    // A slice that cannot be withdrawn keeps its route: nobody is sent to where nothing is.
    const isNew = before === undefined || previous.lastKnown.has(reading.key);
    const sinceMs = isNew || hasOwnSlice(facts.name, kube) ? kube.nowMs : before.sinceMs;
    if (isNew || kube.nowMs - sinceMs < departureMs) departing.set(reading.key, { facts, sinceMs });
  }
  return departing;
}

function hasOwnSlice(cluster: string, { self: { instance }, slices }: KubeWorld): boolean {
  return [false, true].some((disambiguate) => {
    const name = sliceName(cluster, instance, { disambiguate });
    const slice = slices.get(name);
    const known = slice === undefined ? null : sliceOf(name, slice);
    return known !== null && 'instance' in known && known.instance === instance && known.listener === null;
  });
}
