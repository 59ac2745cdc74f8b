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
import { isClusterName, serverNamesOf } from '../objects/cluster-name.ts';
import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import {
  keyOf,
  nameOf,
  namespaceOf,
  objectOf,
  originOf,
  unusedSpecNetworkOf,
} from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterObject, ClusterReading } from '../sources/cluster-source.ts';
import { type NetnsIndex, netnsIndex } from '../world/netns-index.ts';
import type { World } from '../world/world.ts';
import {
  type ClusterCandidate,
  clusterCandidates,
  isSameHealth,
  isUndecided,
  isUp,
} from './cluster-candidates.ts';
import type { ClusterState, ClusterStatus } from './cluster-status.ts';
import type { DesiredContext, DesiredSettings } from './desired-context.ts';
import { listenerStates, namedListeners } from './listener-state.ts';
import type { ListenerStatus } from './listener-status.ts';
import { type NameClaims, nameClaims } from './name-claims.ts';
import { isProven } from './name-order.ts';
import { NO_RECORDS, nameRecords } from './name-records.ts';
import { type Publication, publicationKey } from './publication.ts';
import { keptRouteReason, noNetnsReason, servingReason, unhealthyReason } from './state-reason.ts';

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
  const context = { world, index, claims, settings, cache };

  const entries: RouteEntry[] = [];
  const statuses: ClusterStatus[] = [];
  const targets = new Map<string, ProbeTarget>();
  const byCluster = new Map<string, Route>();
  const publications = new Map<string, Publication>();
  const objects = new Map<string, ClusterObject>();
  for (const reading of world.clusters) {
    const { status, publication, entry, targets: own } = decided(reading, context);
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

  const listeners = listenerStates(context);
  // Clusters come first: on a duplicate server name or probe target, the cluster's entry wins.
  entries.push(...listeners.entries);
  for (const target of listeners.targets) if (!targets.has(target.key)) targets.set(target.key, target);

  const problems = [
    ...world.sourceProblems,
    ...world.netnsProblems.map(({ name, reason }) => ({ origin: `netns ${name}`, reason })),
  ];
  const defaultRoute =
    settings.defaultCluster === null ? null : (byCluster.get(settings.defaultCluster) ?? null);
  if (settings.defaultCluster !== null && defaultRoute === null) {
    const reason = `no proxied cluster is named ${settings.defaultCluster}: clients without a server name are rejected`;
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

/** The complete decision about one cluster. */
interface ClusterDecision {
  readonly status: ClusterStatus;
  readonly publication: Publication | null;
  /** null: the cluster has no entry in the route table. */
  readonly entry: RouteEntry | null;
  readonly targets: readonly ProbeTarget[];
}

interface PreviousDecision {
  readonly decision: ClusterDecision;
  readonly candidates: readonly ClusterCandidate[];
  readonly index: NetnsIndex;
  readonly netnsComplete: boolean;
  readonly complete: boolean;
  readonly settings: DesiredSettings;
}

const newDecisions = () => new WeakMap<ClusterReading, PreviousDecision>();

/**
 * Returns the previous decision, by reference, while all its inputs are equal. Few of a thousand clusters change between two turns, and
 * later comparisons skip the others at once. Only decisions about proxied clusters that hold their name are cached.
 */
function decided(reading: ClusterReading, context: DesiredContext): ClusterDecision {
  const { world, index, claims, settings, cache } = context;
  const { complete, netnsComplete, health } = world;
  const isCacheable = reading.kind === 'proxied' && claims.holds(reading);
  const decisions = cache.part(newDecisions);
  const known = isCacheable ? decisions.get(reading) : undefined;
  if (
    known !== undefined &&
    known.index === index &&
    known.netnsComplete === netnsComplete &&
    known.complete === complete &&
    known.settings === settings &&
    known.candidates.every((each) => isSameHealth(each.health, health.get(each.backend.key) ?? null))
  )
    return known.decision;
  const { status, candidates, routedAs } = placed(reading, context);
  const backends = candidates.filter(isUp).map(({ backend }) => backend);
  const route: Route = { cluster: routedAs ?? status.name, namespace: status.namespace, backends };
  const serverName = status.serverNames[0] ?? status.name;
  const decision: ClusterDecision = {
    status,
    publication: publicationOf(reading, candidates, claims, world),
    entry: routedAs !== null ? { serverNames: status.serverNames, route } : null,
    targets: candidates.map(({ backend }) => Object.freeze({ ...backend, serverName })),
  };
  if (isCacheable) decisions.set(reading, { decision, candidates, index, netnsComplete, complete, settings });
  return decision;
}

interface Placed {
  readonly status: ClusterStatus;
  readonly candidates: readonly ClusterCandidate[];
  /** The name in the route table; null: not in the table. An entry without backends gives clients "unavailable", not "unknown name". */
  readonly routedAs: string | null;
}

function placed(reading: ClusterReading, { world, index, claims, settings }: DesiredContext): Placed {
  const { namespace } = settings;
  const name = nameOf(reading);
  const outside = (state: ClusterState, reason: string): Placed => ({
    status: statusOf(reading, state, reason, [], [], null),
    candidates: [],
    routedAs: null,
  });
  if (reading.kind === 'not-proxied') {
    const departure = world.departing.get(reading.key);
    // Not this cluster's own if another object holds the name now, or is the one that is being withdrawn.
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
  const inside = (state: ClusterState, reason: string, candidates: readonly ClusterCandidate[]): Placed => ({
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

  // An unreadable object keeps its last known route while it still describes the same cluster. A lost status after a restore,
  // or a typing error, must not cut off a working cluster.
  const candidates = facts === null ? [] : clusterCandidates(facts, index, world.health);
  return inside(reading.kind, keptRouteReason(reading.reason, candidates), candidates);
}

/** null if the name is not valid for a Service, or if the cluster does not hold its name. */
function publicationOf(
  reading: ClusterReading,
  candidates: readonly ClusterCandidate[],
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
      : candidates.some(isUndecided)
        ? 'undecided'
        : 'down';
  const common = { cluster, namespace: namespaceOf(reading), object: objectOf(reading) };
  // With an incomplete view, an object with a better claim may be missing. A cluster that was never valid has not used its name.
  const isCertain = !leaving && world.complete && isProven(reading, world.lastKnown);
  return Object.freeze({
    ...common,
    want,
    hasNetns: candidates.length > 0,
    ...(isCertain && { holder: keyOf(reading) }),
  });
}

function statusOf(
  reading: ClusterReading,
  state: ClusterState,
  reason: string,
  serverNames: readonly string[],
  candidates: readonly ClusterCandidate[],
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
