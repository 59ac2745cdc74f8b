// The desired state: the route table, the backends to probe, and the state of each cluster with its reason. A pure function of
// the world: instances with the same view decide the same. An invalid cluster does not affect the others.
import type { ProbeTarget } from '../../health/probe.ts';
import {
  type PortRoute,
  type Route,
  type RouteEntry,
  type RouteTable,
  routeTable,
} from '../../routing/route-table.ts';
import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import { objectOf } from '../sources/cluster-reading.ts';
import type { ClusterObject } from '../sources/cluster-source.ts';
import { type MachineFacts, machineIndex } from '../sources/machine.ts';
import { netnsIndex } from '../world/netns-index.ts';
import type { World } from '../world/world.ts';
import { expiryText } from './cluster-certificate.ts';
import { clusterDecision } from './cluster-decision.ts';
import type { ClusterStatus } from './cluster-status.ts';
import type { DesiredContext, DesiredSettings } from './desired-context.ts';
import { listenerStates, namedListeners } from './listener-state.ts';
import type { ListenerStatus } from './listener-status.ts';
import { type NameClaims, nameClaims } from './name-claims.ts';
import { NO_RECORDS, nameRecords } from './name-records.ts';
import { type Publication, publicationKey } from './publication.ts';

export interface Desired {
  /** Whether the world was complete for this decision. If it was incomplete, nothing may be deleted as orphaned. */
  readonly complete: boolean;
  readonly routes: RouteTable;
  /** Sorted by name, then namespace, then origin. */
  readonly clusters: readonly ClusterStatus[];
  /** All backends to probe, each key once, sorted by key. */
  readonly backends: readonly ProbeTarget[];
  /** Problems outside the clusters themselves: files, documents, settings. Sorted. */
  readonly problems: readonly Problem[];
  /** Dedicated ports: one for each TCP listener that may have one. Sorted by name. */
  readonly ports: readonly PortRoute[];
  /** Ports to which a slice of this instance may still send clients. Only the listener that had such a port may reopen it. Sorted. */
  readonly heldPorts: readonly number[];
  /** Additional listeners, sorted by namespace and name. */
  readonly listeners: readonly ListenerStatus[];
}

/** Adds the fields that only the control side uses. */
export interface DesiredState extends Desired {
  /** The publications of all clusters and listeners, one per key, sorted by key. */
  readonly publications: readonly Publication[];
  /** Keys of publications that are not published now but keep their Service. */
  readonly reserved: readonly string[];
  /** All additional listeners are known: a listener without a publication no longer exists. */
  readonly listenersComplete: boolean;
  /** By `<namespace>/<name>`: the object behind each listener's status. */
  readonly listenerObjects: ReadonlyMap<string, ListenerObject>;
  /** By origin: the object behind each cluster's status. */
  readonly objects: ReadonlyMap<string, ClusterObject>;
  /** Since when most clusters have been missing (monotonic). It stays set after the mass-delete breaker allows their deletion. */
  readonly vanishedSinceMs: number | null;
}

export function desiredState(world: World, settings: DesiredSettings, cache: TurnCache): DesiredState {
  const { netns, netnsProblems } = world;
  const index = cache.last(netnsIndex, netns, netnsProblems, settings.netnsPrefixes ?? NO_PREFIXES);
  const claims = claimsOf(world, settings, cache);
  const controlPlanes = cache.last(controlPlaneIndex, world.controlPlanes);
  const context = { world, index, claims, controlPlanes, settings, cache };

  const { statuses, objects, ...decided } = clusterResults(context);
  const listeners = listenerStates(context);
  // Clusters come first: on a duplicate server name, the cluster's entry wins.
  const entries = [...decided.entries, ...listeners.entries];
  const targets = mostFrequent([...decided.targets, ...listeners.targets]);
  const { defaultRoute } = decided;
  return Object.freeze({
    complete: world.complete,
    ports: listeners.ports,
    heldPorts: listeners.heldPorts,
    listeners: listeners.statuses,
    reserved: listeners.reserved,
    listenersComplete: world.listeners.complete,
    listenerObjects: new Map(world.listeners.listeners.map(({ reading }) => [reading.key, reading.object])),
    routes: routeTable(entries, defaultRoute),
    clusters: Object.freeze(statuses.sort(byName)),
    objects,
    vanishedSinceMs: world.vanishedSinceMs,
    publications: Object.freeze(
      [...decided.publications, ...listeners.publications].sort((a, b) =>
        byText(publicationKey(a), publicationKey(b)),
      ),
    ),
    backends: Object.freeze(targets.sort((a, b) => byText(a.key, b.key))),
    problems: problemsOf(world, statuses, defaultRoute === null ? settings.defaultCluster : null),
  });
}

interface ClusterResults {
  readonly statuses: ClusterStatus[];
  readonly objects: ReadonlyMap<string, ClusterObject>;
  readonly entries: readonly RouteEntry[];
  readonly targets: readonly ProbeTarget[];
  /** Of `--default-cluster`. */
  readonly defaultRoute: Route | null;
  /** Of clusters that share a name, the first. */
  readonly publications: readonly Publication[];
}

function clusterResults(context: DesiredContext): ClusterResults {
  const statuses: ClusterStatus[] = [];
  const objects = new Map<string, ClusterObject>();
  const entries: RouteEntry[] = [];
  const targets: ProbeTarget[] = [];
  const publications: Publication[] = [];
  let defaultRoute: Route | null = null;
  for (const reading of context.world.clusters) {
    const decision = clusterDecision(reading, context);
    const { status, entry } = decision;
    statuses.push(status);
    const object = objectOf(reading);
    if (object !== null) objects.set(status.origin, object);
    if (decision.publication !== null) publications.push(decision.publication);
    if (entry === null) continue;
    // A cluster that does not hold its name has no server names.
    if (entry.route.cluster === context.settings.defaultCluster && status.serverNames.length > 0)
      defaultRoute ??= entry.route;
    entries.push(entry);
    targets.push(...decision.targets);
  }
  return {
    statuses,
    objects,
    entries,
    targets,
    defaultRoute,
    publications: firstOfKey(publications, ({ cluster }) => cluster),
  };
}

function firstOfKey<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const first = new Map<string, T>();
  for (const item of items) if (!first.has(keyOf(item))) first.set(keyOf(item), item);
  return [...first.values()];
}

/** `missingDefault`: the name of a `--default-cluster` that is not proxied. */
function problemsOf(
  world: World,
  statuses: readonly ClusterStatus[],
  missingDefault: string | null,
): readonly Problem[] {
  const problems = [
    ...world.sourceProblems,
    ...world.netnsProblems.map(({ name, reason }) => ({ origin: `netns ${name}`, reason })),
  ];
  for (const { origin, certificate } of statuses) {
    if (certificate === undefined || certificate.expiry === 'valid') continue;
    problems.push({ origin: `certificate of ${origin}`, reason: expiryText(certificate) });
  }
  if (missingDefault !== null) {
    const reason = `no proxied cluster is named ${missingDefault}: clients without a server name are rejected`;
    problems.push({ origin: '--default-cluster', reason });
  }
  return Object.freeze(problems.sort((a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason)));
}

/** Listeners use the same function for other machines, and the cache remembers one call of each function. */
const controlPlaneIndex = (machines: readonly MachineFacts[]) => machineIndex(machines);

/**
 * If two objects need the same probe, the more frequent one is kept. Otherwise a Machine that reports the address of another API server
 * in its network would slow its probes down.
 */
function mostFrequent(targets: readonly ProbeTarget[]): ProbeTarget[] {
  const kept = new Map<string, ProbeTarget>();
  for (const target of targets) {
    const known = kept.get(target.key);
    kept.set(target.key, known === undefined ? target : joinedTarget(known, target));
  }
  return [...kept.values()];
}

/** A way that a listener selects too stays a way: in another group of probes it would lose its verdict, and clients their route. */
function joinedTarget(a: ProbeTarget, b: ProbeTarget): ProbeTarget {
  const way = [a, b].find((each) => each.way !== undefined);
  const ofListener = [a, b].some(({ check }) => check !== undefined);
  if (way !== undefined && ofListener) return Object.freeze({ ...way, way: 'needed' });
  return paceOf(b) > paceOf(a) ? b : a;
}

function paceOf({ way, check }: ProbeTarget): number {
  if (way !== undefined) return way === 'needed' ? 1 : 0;
  return check === undefined ? 3 : 2;
}

const NO_PREFIXES: readonly string[] = [];

function claimsOf(
  world: World,
  { namespace, clusterNamespace = null }: DesiredSettings,
  cache: TurnCache,
): NameClaims {
  const { kube, clusters, lastKnown, clustersComplete } = world;
  return nameClaims({
    clusters,
    lastKnown,
    listeners: namedListeners(world),
    records: kube === null ? NO_RECORDS : cache.last(nameRecords, kube.services, clusterNamespace),
    servicesListed: kube?.servicesListed ?? true,
    clustersComplete,
    listenersComplete: world.listeners.complete,
    ownNamespace: namespace,
  });
}

const byName = (a: ClusterStatus, b: ClusterStatus): number =>
  byText(a.name, b.name) || byText(a.namespace, b.namespace) || byText(a.origin, b.origin);
