// What should be: the route table, the backends to probe, and for each cluster the state it is in and why. A pure function
// of the world, so that every instance that sees the same decides the same, and one bad cluster stays one bad cluster.
import type { ProbeTarget } from '../../health/probe.ts';
import {
  type PortRoute,
  type Route,
  type RouteEntry,
  type RouteTable,
  routeTable,
} from '../../routing/route-table.ts';
import { isClusterName, serverNamesOf } from '../objects/cluster-name.ts';
import { byText } from '../objects/text-order.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import {
  keyOf,
  nameOf,
  namespaceOf,
  objectOf,
  originOf,
  unusedSpecNetworkOf,
} from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterObject, ClusterReading, Problem } from '../sources/cluster-source.ts';
import { type NetnsIndex, netnsIndex } from '../world/netns-index.ts';
import type { World } from '../world/world.ts';
import { type Candidate, clusterCandidates, isSameHealth, isUnjudged, isUp } from './cluster-candidates.ts';
import type { ClusterState, ClusterStatus } from './cluster-status.ts';
import { listenerStates, namedListeners } from './listener-state.ts';
import type { ListenerStatus } from './listener-status.ts';
import { type NameClaims, nameClaims } from './name-claims.ts';
import { isProven } from './name-order.ts';
import { NO_RECORDS, nameRecords } from './name-records.ts';
import { type Publication, publicationKey } from './publication.ts';
import { keptRouteReason, noNetnsReason, servingReason, unhealthyReason } from './state-reason.ts';

export interface DesiredSettings {
  /** The Kubernetes namespace in server names. */
  readonly namespace: string;
  /** The cluster for clients without a server name. */
  readonly defaultCluster: string | null;
  /** The Kubernetes namespace that clusters are looked for in; null or absent: in all. */
  readonly clusterNamespace?: string | null;
  /** Prefixes of netns names that the operator adds to those of Neutron's agents; absent: none. */
  readonly netnsPrefixes?: readonly string[];
}

export interface Desired {
  /** What the world was when this was decided: nothing may be cleaned up on the word of an incomplete one. */
  readonly complete: boolean;
  readonly routes: RouteTable;
  /** Sorted by name, then namespace, then origin. */
  readonly clusters: readonly ClusterStatus[];
  /** Every backend worth probing, each key once, sorted by it. */
  readonly backends: readonly ProbeTarget[];
  /** What is wrong beside the clusters themselves: files, documents, settings. Sorted. */
  readonly problems: readonly Problem[];
  /** Ports of their own, one for each TCP listener that may have one; sorted by name. */
  readonly ports: readonly PortRoute[];
  /** Ports that clients may still be sent to by a slice of ours: only for the one that had it before. Sorted. */
  readonly heldPorts: readonly number[];
  /** Additional listeners, sorted by namespace and name. */
  readonly listeners: readonly ListenerStatus[];
}

/** What is only of use to the control side itself. */
export interface DesiredState extends Desired {
  /** What should be published of each cluster and listener; one per key, sorted by it. */
  readonly publications: readonly Publication[];
  /** Keys of what is not published now, and whose Service stays all the same. */
  readonly reserved: readonly string[];
  /** Additional listeners are completely known: one that is not published is gone. */
  readonly listenersComplete: boolean;
  /** By `<namespace>/<name>`: the object that each listener's status is about. */
  readonly listenerObjects: ReadonlyMap<string, ListenerObject>;
  /** By origin: the object that each cluster's status is about. */
  readonly objects: ReadonlyMap<string, ClusterObject>;
  /** Since when most clusters have been missing, whether or not that is believed by now (monotonic). */
  readonly vanishedSinceMs: number | null;
}

export function desiredState(world: World, settings: DesiredSettings): DesiredState {
  const index = netnsIndex(world.netns, world.netnsProblems, settings.netnsPrefixes);
  const claims = claimsOf(world, settings);

  const entries: RouteEntry[] = [];
  const statuses: ClusterStatus[] = [];
  const targets = new Map<string, ProbeTarget>();
  const byCluster = new Map<string, Route>();
  const publications = new Map<string, Publication>();
  const objects = new Map<string, ClusterObject>();
  for (const reading of world.clusters) {
    const { status, publication, entry, targets: own } = decided(reading, world, index, claims, settings);
    statuses.push(status);
    const object = objectOf(reading);
    if (object !== null) objects.set(status.origin, object);
    if (publication !== null && !publications.has(publication.cluster))
      publications.set(publication.cluster, publication);
    if (entry === null) continue;
    if (!byCluster.has(entry.route.cluster)) byCluster.set(entry.route.cluster, entry.route);
    entries.push(entry);
    for (const target of own) if (!targets.has(target.key)) targets.set(target.key, target);
  }

  const listeners = listenerStates(world, index, claims, settings.namespace);
  // After the clusters: what has their names, or is probed for them, is theirs.
  entries.push(...listeners.entries);
  for (const target of listeners.targets) if (!targets.has(target.key)) targets.set(target.key, target);

  const problems = [
    ...world.sourceProblems,
    ...world.netnsProblems.map(({ name, reason }) => ({ origin: `netns ${name}`, reason })),
  ];
  const defaultRoute =
    settings.defaultCluster === null ? null : (byCluster.get(settings.defaultCluster) ?? null);
  if (settings.defaultCluster !== null && defaultRoute === null) {
    const reason = `no proxied cluster is named ${settings.defaultCluster}: clients without a server name are refused`;
    problems.push({ origin: '--default-cluster', reason });
  }
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
      [...publications.values(), ...listeners.publications].sort((a, b) =>
        byText(publicationKey(a), publicationKey(b)),
      ),
    ),
    backends: Object.freeze([...targets.values()].sort((a, b) => byText(a.key, b.key))),
    problems: Object.freeze(
      problems.sort((a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason)),
    ),
  });
}

function claimsOf(world: World, { namespace, clusterNamespace = null }: DesiredSettings): NameClaims {
  const { kube, clusters, lastKnown, clustersComplete } = world;
  return nameClaims({
    clusters,
    lastKnown,
    listeners: namedListeners(world),
    records: kube === null ? NO_RECORDS : nameRecords(kube.services, clusterNamespace),
    recordsSeen: kube?.servicesSeen ?? true,
    clustersComplete,
    listenersComplete: world.listeners.complete,
    ownNamespace: namespace,
  });
}

/** All that is decided of one cluster. */
interface Decision {
  readonly status: ClusterStatus;
  readonly publication: Publication | null;
  /** null: its name is not in the table. */
  readonly entry: RouteEntry | null;
  readonly targets: readonly ProbeTarget[];
}

interface Kept {
  readonly decision: Decision;
  readonly candidates: readonly Candidate[];
  readonly index: NetnsIndex;
  readonly netnsComplete: boolean;
  readonly complete: boolean;
  readonly settings: DesiredSettings;
}

const kept = new WeakMap<ClusterReading, Kept>();

/**
 * The same decision, the same reference, while all that it depends on says the same: of a thousand clusters few change from one turn to
 * the next, and who compares after us is done with the others at once. Only of those that have their name and are understood.
 */
function decided(
  reading: ClusterReading,
  world: World,
  index: NetnsIndex,
  claims: NameClaims,
  settings: DesiredSettings,
): Decision {
  const { complete, netnsComplete, health } = world;
  const mayKeep = reading.kind === 'proxied' && claims.holds(reading);
  const known = mayKeep ? kept.get(reading) : undefined;
  if (
    known !== undefined &&
    known.index === index &&
    known.netnsComplete === netnsComplete &&
    known.complete === complete &&
    known.settings === settings &&
    known.candidates.every((each) => isSameHealth(each.health, health.get(each.backend.key) ?? null))
  )
    return known.decision;
  const { status, candidates, routedAs } = placed(reading, world, index, claims, settings.namespace);
  const backends = candidates.filter(isUp).map(({ backend }) => backend);
  const route: Route = { cluster: routedAs ?? status.name, namespace: status.namespace, backends };
  const serverName = status.serverNames[0] ?? status.name;
  const decision: Decision = {
    status,
    publication: publicationOf(reading, candidates, claims, world),
    entry: routedAs !== null ? { serverNames: status.serverNames, route } : null,
    targets: candidates.map(({ backend }) => Object.freeze({ ...backend, serverName })),
  };
  if (mayKeep) kept.set(reading, { decision, candidates, index, netnsComplete, complete, settings });
  return decision;
}

interface Placed {
  readonly status: ClusterStatus;
  readonly candidates: readonly Candidate[];
  /** The name in the table, where its clients are told "not now" rather than "never heard of it"; null: it is in none. */
  readonly routedAs: string | null;
}

function placed(
  reading: ClusterReading,
  world: World,
  index: NetnsIndex,
  claims: NameClaims,
  namespace: string,
): Placed {
  const name = nameOf(reading);
  const outside = (state: ClusterState, reason: string): Placed => ({
    status: statusOf(reading, state, reason, [], [], null),
    candidates: [],
    routedAs: null,
  });
  if (reading.kind === 'not-proxied') {
    const departure = world.departing.get(reading.key);
    // Another object has the name now, or is the one that is taken back.
    const isOwn =
      departure?.facts.name === name
        ? claims.mayLeave(reading)
        : departure !== undefined && claims.isFree(departure.facts.name);
    if (departure === undefined || !isOwn) return outside('not-proxied', reading.reason);
    const candidates = clusterCandidates(departure.facts, index, world.health);
    const serverNames = serverNamesOf(departure.facts.name, namespace);
    const reason = `${reading.reason}; it is being taken back: clients are sent elsewhere first`;
    return {
      status: statusOf(reading, 'not-proxied', reason, serverNames, candidates, departure.facts),
      candidates,
      routedAs: departure.facts.name,
    };
  }
  if (!isClusterName(name)) {
    return outside(
      'invalid',
      reading.kind === 'invalid' ? reading.reason : `${name} is no name a Service can carry`,
    );
  }
  if (claims.isUndecided(name)) return outside('pending', claims.refusal(reading));
  if (!claims.holds(reading)) {
    const also = reading.kind === 'invalid' ? `; besides, ${reading.reason}` : '';
    return outside('invalid', `${claims.refusal(reading)}${also}`);
  }

  const serverNames = serverNamesOf(name, namespace);
  const known = world.lastKnown.get(keyOf(reading));
  const facts = known?.name === name ? known : null;
  const inside = (state: ClusterState, reason: string, candidates: readonly Candidate[]): Placed => ({
    status: statusOf(reading, state, reason, serverNames, candidates, facts),
    candidates,
    routedAs: name,
  });
  if (reading.kind === 'proxied') {
    const candidates = clusterCandidates(reading.facts, index, world.health);
    if (candidates.length === 0)
      return inside('no-netns', noNetnsReason(reading.facts, index, world.netnsComplete), []);
    if (candidates.some(isUp)) return inside('serving', servingReason(candidates), candidates);
    return inside('unhealthy', unhealthyReason(candidates), candidates);
  }

  // What cannot be understood now takes nothing away that was understood before, as long as it still claims to be the same
  // cluster: a lost status after a restore, or a typing error, must not cut off a cluster that works.
  const candidates = facts === null ? [] : clusterCandidates(facts, index, world.health);
  return inside(reading.kind, keptRouteReason(reading.reason, candidates), candidates);
}

/** null for what has no name that anything could be published under, or not the right to it. */
function publicationOf(
  reading: ClusterReading,
  candidates: readonly Candidate[],
  claims: NameClaims,
  world: World,
): Publication | null {
  const cluster = nameOf(reading);
  const leaving = reading.kind === 'not-proxied';
  if (!isClusterName(cluster) || !(leaving ? claims.mayLeave(reading) : claims.holds(reading))) return null;
  const want = leaving
    ? 'leaving'
    : candidates.some(isUp)
      ? 'live'
      : candidates.some(isUnjudged)
        ? 'unjudged'
        : 'down';
  const common = { cluster, namespace: namespaceOf(reading), object: objectOf(reading) };
  // An instance that does not see everything may not see the one that comes first; and one that never was valid has used no name.
  const isCertain = !leaving && world.complete && isProven(reading, world.lastKnown);
  return Object.freeze({
    ...common,
    want,
    near: candidates.length > 0,
    ...(isCertain && { holder: keyOf(reading) }),
  });
}

function statusOf(
  reading: ClusterReading,
  state: ClusterState,
  reason: string,
  serverNames: readonly string[],
  candidates: readonly Candidate[],
  facts: ClusterFacts | null,
): ClusterStatus {
  const unusedSpecNetworkId = unusedSpecNetworkOf(reading);
  const backends = candidates.map((candidate) => {
    const { key, address, port } = candidate.backend;
    return Object.freeze({ key, address, port, netns: candidate.netnsName, up: isUp(candidate) });
  });
  return Object.freeze({
    name: nameOf(reading),
    namespace: namespaceOf(reading),
    origin: originOf(reading),
    state,
    reason,
    serverNames: Object.freeze(serverNames),
    ...(facts !== null && {
      apiServer: Object.freeze({ networkIds: facts.networkIds, address: facts.address, port: facts.port }),
    }),
    ...(unusedSpecNetworkId !== null && { unusedSpecNetworkId }),
    backends: Object.freeze(backends),
  });
}

const byName = (a: ClusterStatus, b: ClusterStatus): number =>
  byText(a.name, b.name) || byText(a.namespace, b.namespace) || byText(a.origin, b.origin);
