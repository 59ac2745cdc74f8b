// The decision about one cluster: its state with the reason, its route, its probes and its publication. desired-state.ts joins the decisions
// of all clusters. Pure.
import type { ProbeTarget } from '../../health/probe.ts';
import type { Route, RouteEntry } from '../../routing/route-table.ts';
import { clusterServerNames, isClusterName, ownServerNames } from '../objects/service-names.ts';
import { isSameList } from '../objects/turn-cache.ts';
import {
  keyOf,
  nameOf,
  namespaceOf,
  objectOf,
  originOf,
  unusedSpecNetworkOf,
} from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import type { MachineFacts } from '../sources/machine.ts';
import type { NetnsIndex } from '../world/netns-index.ts';
import type { World } from '../world/world.ts';
import {
  type ClusterCandidate,
  candidateTargets,
  clusterCandidates,
  isSameHealth,
  isUp,
} from './cluster-candidates.ts';
import { clusterCertificate, isSameReading } from './cluster-certificate.ts';
import type { ClusterState, ClusterStatus } from './cluster-status.ts';
import type { DesiredContext, DesiredSettings } from './desired-context.ts';
import type { NameClaims } from './name-claims.ts';
import { isProven } from './name-order.ts';
import { type Publication, type PublishedCertificate, wantOf } from './publication.ts';
import { keptRouteReason, noNetnsReason, servingReason, unhealthyReason } from './state-reason.ts';

/** The complete decision about one cluster. */
export interface ClusterDecision {
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
  readonly machines: readonly MachineFacts[];
  readonly netnsComplete: boolean;
  readonly controlPlanesKnown: boolean;
  readonly complete: boolean;
  readonly settings: DesiredSettings;
  /** Replaced while the readings of the candidates stay the same: old ones must not stay in memory. */
  certificates: World['certificates'];
}

const newDecisions = () => new WeakMap<ClusterReading, PreviousDecision>();

/**
 * Returns the previous decision, by reference, while all its inputs are equal. Few of a thousand clusters change between two turns, and
 * later stages skip the others by comparing references. Only decisions about proxied clusters that hold their name are cached.
 */
export function clusterDecision(reading: ClusterReading, context: DesiredContext): ClusterDecision {
  const { world, index, claims, controlPlanes, settings, cache } = context;
  const { complete, netnsComplete, controlPlanesKnown, certificates } = world;
  const machines = controlPlanes.of(namespaceOf(reading), nameOf(reading));
  if (reading.kind !== 'proxied' || !claims.holds(reading)) return newDecision(reading, context).decision;
  const decisions = cache.part(newDecisions);
  const known = decisions.get(reading);
  if (known !== undefined && isCurrent(known, machines, context)) {
    known.certificates = certificates;
    return known.decision;
  }
  const { decision, candidates } = newDecision(reading, context);
  const seen = { netnsComplete, controlPlanesKnown, complete, certificates };
  const inputs = { candidates, index, machines, settings, ...seen };
  decisions.set(reading, { decision, ...inputs });
  return decision;
}

/** Every input of the decision is the same as now. */
const isCurrent = (
  known: PreviousDecision,
  machines: readonly MachineFacts[],
  { world, index, settings }: DesiredContext,
): boolean =>
  known.index === index &&
  isSameList(known.machines, machines) &&
  known.netnsComplete === world.netnsComplete &&
  known.controlPlanesKnown === world.controlPlanesKnown &&
  known.complete === world.complete &&
  known.settings === settings &&
  isSameReading(known.candidates, known.certificates, world.certificates) &&
  known.candidates.every((each) => isSameHealth(each.health, world.health.get(each.backend.key) ?? null));

function newDecision(
  reading: ClusterReading,
  context: DesiredContext,
): { readonly decision: ClusterDecision; readonly candidates: readonly ClusterCandidate[] } {
  const { world, claims } = context;
  const { status: stateOnly, candidates, routedAs } = placed(reading, context);
  const { serverNames: published } = stateOnly;
  const certificate = clusterCertificate(candidates, published, world.certificates);
  const status =
    certificate.status === null || published.length === 0
      ? stateOnly
      : Object.freeze({ ...stateOnly, certificate: certificate.status });
  const backends = candidates.filter(isUp).map(({ backend }) => backend);
  const route: Route = { cluster: routedAs ?? status.name, namespace: status.namespace, backends };
  const serverNames = status.ownServerNames ?? status.serverNames;
  const decision: ClusterDecision = {
    status,
    publication: publicationOf(reading, { candidates, certificate: certificate.published }, claims, world),
    entry: routedAs !== null ? { serverNames, route } : null,
    targets: candidateTargets(candidates, serverNames[0] ?? status.name),
  };
  return { decision, candidates };
}

interface Placed {
  readonly status: ClusterStatus;
  readonly candidates: readonly ClusterCandidate[];
  /**
   * The name in the route table; null: not in the table. With an entry without backends, clients get "unavailable" instead of "unknown
   * name".
   */
  readonly routedAs: string | null;
}

function placed(reading: ClusterReading, context: DesiredContext): Placed {
  const { world, index, claims, settings } = context;
  if (reading.kind === 'not-proxied') return withdrawn(reading, context);
  const name = nameOf(reading);
  if (!isClusterName(name)) {
    const reason = `${name} is not a valid name for a Service`;
    return unrouted(reading, 'invalid', reading.kind === 'invalid' ? reading.reason : reason);
  }
  if (claims.isUndecided(name)) return unrouted(reading, 'pending', claims.refusal(reading));
  if (!claims.holds(reading)) {
    const also = reading.kind === 'invalid' ? `; besides, ${reading.reason}` : '';
    return withoutName(reading, `${claims.refusal(reading)}${also}`, context);
  }

  const serverNames = clusterServerNames(name, settings.namespace, namespaceOf(reading));
  const known = world.lastKnown.get(keyOf(reading));
  const facts = known?.name === name ? known : null;
  const routed = (state: ClusterState, reason: string, candidates: readonly ClusterCandidate[]): Placed => ({
    status: statusOf(reading, { state, reason, serverNames, candidates, facts }),
    candidates,
    routedAs: name,
  });
  if (reading.kind === 'proxied') {
    const candidates = clusterCandidates(reading.facts, reading, context);
    if (candidates.length === 0)
      return routed('no-netns', noNetnsReason(reading.facts, index, world.netnsComplete), []);
    if (candidates.some(isUp)) return routed('serving', servingReason(candidates), candidates);
    return routed('unhealthy', unhealthyReason(candidates), candidates);
  }

  // An unusable object keeps its last known route while it still describes the same cluster. A status that a restore lost, or
  // a typing error, must not cut off a working cluster.
  const candidates = facts === null ? [] : clusterCandidates(facts, reading, context);
  return routed(reading.kind, keptRouteReason(reading.reason, candidates), candidates);
}

/** Another object holds the name. The names of the own namespace still lead to the cluster: no other namespace can derive them. */
function withoutName(reading: ClusterReading, reason: string, context: DesiredContext): Placed {
  const { world, claims, settings } = context;
  const [name, own] = [nameOf(reading), namespaceOf(reading)];
  const known = reading.kind === 'proxied' ? reading.facts : world.lastKnown.get(keyOf(reading));
  const names = claims.isFirstOfNamespace(reading) ? ownServerNames(name, settings.namespace, own) : [];
  if (known?.name !== name || names.length === 0) return unrouted(reading, 'invalid', reason);
  const candidates = clusterCandidates(known, reading, context);
  const shown = { state: 'invalid', reason, serverNames: [], candidates, facts: known } as const;
  const status = Object.freeze({ ...statusOf(reading, shown), ownServerNames: Object.freeze(names) });
  return { status, candidates, routedAs: name };
}

const unrouted = (reading: ClusterReading, state: ClusterState, reason: string): Placed => ({
  status: statusOf(reading, { state, reason, serverNames: [], candidates: [], facts: null }),
  candidates: [],
  routedAs: null,
});

/** A cluster that is not proxied. It keeps its route while its objects are being withdrawn. */
function withdrawn(
  reading: Extract<ClusterReading, { readonly kind: 'not-proxied' }>,
  context: DesiredContext,
): Placed {
  const { world, claims, settings } = context;
  const facts = world.departing.get(reading.key)?.facts;
  if (facts === undefined) return unrouted(reading, 'not-proxied', reading.reason);
  // This object keeps the departing route only if no other object holds the name now. If several objects are being withdrawn under one
  // name, the one with the best claim keeps the route.
  const isOwn = facts.name === nameOf(reading) ? claims.mayLeave(reading) : claims.isFree(facts.name);
  if (!isOwn) return unrouted(reading, 'not-proxied', reading.reason);
  const candidates = clusterCandidates(facts, reading, context);
  const serverNames = clusterServerNames(facts.name, settings.namespace, namespaceOf(reading));
  const reason = `${reading.reason}; it is being withdrawn: its route stays until all nodes use other instances`;
  return {
    status: statusOf(reading, { state: 'not-proxied', reason, serverNames, candidates, facts }),
    candidates,
    routedAs: facts.name,
  };
}

interface Reached {
  readonly candidates: readonly ClusterCandidate[];
  readonly certificate: PublishedCertificate;
}

/** null if the name is not valid for a Service, or if the cluster does not hold its name. */
function publicationOf(
  reading: ClusterReading,
  { candidates, certificate }: Reached,
  claims: NameClaims,
  world: World,
): Publication | null {
  const cluster = nameOf(reading);
  const leaving = reading.kind === 'not-proxied';
  if (!isClusterName(cluster) || !(leaving ? claims.mayLeave(reading) : claims.holds(reading))) return null;
  const common = { cluster, namespace: namespaceOf(reading), object: objectOf(reading) };
  // With an incomplete view, an object with a better claim may be missing. A cluster that was never valid has never used its name.
  const isCertain = !leaving && world.complete && isProven(reading, world.lastKnown);
  return Object.freeze({
    ...common,
    want: leaving ? 'leaving' : clusterWant(candidates, world),
    hasNetns: candidates.length > 0,
    certificate,
    ...(isCertain && { holder: keyOf(reading) }),
  });
}

/** A restarted instance keeps its slice until it knows every way to the API server: on OVN, often only a Machine is reachable. */
function clusterWant(
  candidates: readonly ClusterCandidate[],
  { controlPlanesKnown }: World,
): ReturnType<typeof wantOf> {
  const want = wantOf(candidates.map(({ health }) => health));
  return want === 'down' && candidates.length > 0 && !controlPlanesKnown ? 'undecided' : want;
}

interface StatusFacts {
  readonly state: ClusterState;
  readonly reason: string;
  readonly serverNames: readonly string[];
  readonly candidates: readonly ClusterCandidate[];
  readonly facts: ClusterFacts | null;
}

function statusOf(
  reading: ClusterReading,
  { state, reason, serverNames, candidates, facts }: StatusFacts,
): ClusterStatus {
  const unusedSpecNetworkId = unusedSpecNetworkOf(reading);
  const backends = candidates.map((candidate) => {
    const { key, address, port } = candidate.backend;
    const { netnsName: netns, machine } = candidate;
    const shown = { key, address, port, netns, ...(machine !== null && { machine }) };
    return Object.freeze({ ...shown, up: isUp(candidate) });
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
