// The decision about one additional listener: route, port or server names, members, publication, and state with its reason. It does not
// depend on whether the cluster's API server answers: listeners are needed most when it does not. Pure.
import type { Backend, PortRoute, Route, RouteEntry } from '../../routing/route-table.ts';
import { listenerLabels, listenerPublicationKey, selectorAnnotation } from '../objects/listener-labels.ts';
import { ownershipOf } from '../objects/ownership.ts';
import { type NamedListener, serverNamesOf } from '../objects/service-names.ts';
import type { ListenerDefinition, ListenerReading } from '../sources/additional-listener.ts';
import { keyOf, machineNetworkOf, namespaceOf, objectOf } from '../sources/cluster-reading.ts';
import type { ClusterReading } from '../sources/cluster-source.ts';
import type { MachineIndex } from '../sources/machine.ts';
import type { EffectiveListener } from '../world/listener-world.ts';
import type { World } from '../world/world.ts';
import type { DesiredContext } from './desired-context.ts';
import { type ListenerCondition, type ListenerFacts, listenerCondition } from './listener-condition.ts';
import type { ListenerStatus } from './listener-status.ts';
import type { ListenerName } from './name-claims.ts';
import { type PoolMember, poolMembers } from './pool-members.ts';
import { type Publication, wantOf } from './publication.ts';

export interface PlacedListener {
  /** null for a listener that is being withdrawn, for which the status has no entry. */
  readonly status: ListenerStatus | null;
  readonly members: readonly PoolMember[];
  /** Its server names on the shared port; null: clients use none. */
  readonly entry: RouteEntry | null;
  /** Its own port; null: clients use none. */
  readonly port: PortRoute | null;
  readonly publication: Publication | null;
  /** Publication keys of its existing Services, which stay although the listener cannot be served. */
  readonly reserved: readonly string[];
}

export interface ListenerContext extends DesiredContext {
  readonly machines: MachineIndex;
}

export function placedListener(
  listener: EffectiveListener,
  leaving: boolean,
  cluster: ClusterReading | null,
  context: ListenerContext,
): PlacedListener {
  const { reading, definition } = listener;
  const name =
    definition === null ? NO_NAME : context.claims.listenerName(namedListener(reading, definition));
  const { service } = name;
  const question = { listener, leaving, name };
  if (definition === null || service === null) return unusableListener(question, context);
  if (cluster === null) return listenerWithoutCluster(question, definition);
  return servedListener(question, service, listenerFacts(reading, definition, cluster, context), context);
}

interface ListenerQuestion {
  readonly listener: EffectiveListener;
  /** The listener is being withdrawn. */
  readonly leaving: boolean;
  readonly name: ListenerName;
}

/** For a listener without a valid spec or a free name. Its existing Services stay until an operator corrects it. */
function unusableListener(question: ListenerQuestion, { world }: ListenerContext): PlacedListener {
  const { listener, name } = question;
  const { conflict } = name;
  const reason = [...listener.problems, ...(conflict === null ? [] : [conflict])].join('; ');
  const status = unservedStatus(question, 'invalid', reason);
  return { ...UNSERVED, status, reserved: existingServices(listener.reading.key, world) };
}

function listenerWithoutCluster(question: ListenerQuestion, { cluster }: ListenerDefinition): PlacedListener {
  const { reading, problems } = question.listener;
  const absent = `there is no cluster ${cluster} in namespace ${reading.namespace} (yet)`;
  const state = problems.length > 0 ? 'invalid' : 'pending';
  return { ...UNSERVED, status: unservedStatus(question, state, [...problems, absent].join('; ')) };
}

function servedListener(
  question: ListenerQuestion,
  service: string,
  facts: ServedFacts,
  { world, settings }: ListenerContext,
): PlacedListener {
  const { reading } = question.listener;
  const { definition, members, route } = facts;
  const isUsed = (protocol: ListenerDefinition['protocol']) =>
    definition.protocol === protocol ||
    world.listeners.previousEntries.get(reading.key)?.protocol === protocol;
  const serverNames = isUsed('TLS') ? serverNamesOf(service, settings.namespace) : [];
  return {
    status: servedStatus(question, serverNames, facts),
    members,
    entry: isUsed('TLS') ? { serverNames, route } : null,
    port: isUsed('TCP') ? portRoute(reading, service, facts) : null,
    publication: listenerPublication(question, service, facts),
    reserved: [],
  };
}

function listenerPublication(
  { listener: { reading }, leaving }: ListenerQuestion,
  service: string,
  facts: ServedFacts,
): Publication {
  const { cluster, definition } = facts;
  return Object.freeze({
    cluster: definition.cluster,
    namespace: namespaceOf(cluster),
    object: objectOf(cluster),
    want: leaving ? 'leaving' : listenerWant(facts),
    hasNetns: facts.netnsCount > 0,
    listener: Object.freeze({
      key: reading.key,
      service,
      port: definition.port,
      listenPort: definition.protocol === 'TLS' ? 'shared' : openPort(facts),
      selector: selectorAnnotation(reading.object.uid, definition.selectorDigest),
    }),
  });
}

const NO_NAME: ListenerName = { service: null, conflict: null };

export const namedListener = (
  { key, createdAtMs }: ListenerReading,
  { cluster, poolName }: ListenerDefinition,
): NamedListener => ({ key, createdAtMs, cluster, poolName });

const UNSERVED: PlacedListener = Object.freeze({
  status: null,
  members: [],
  entry: null,
  port: null,
  publication: null,
  reserved: [],
});

interface ServedFacts extends ListenerFacts {
  readonly cluster: ClusterReading;
  readonly route: Route;
}

/** What the turn knows about a listener whose cluster exists. */
function listenerFacts(
  reading: ListenerReading,
  definition: ListenerDefinition,
  cluster: ClusterReading,
  { world, index, cache, machines: allMachines }: ListenerContext,
): ServedFacts {
  const networkId = machineNetworkOf(cluster, world.lastKnown.get(keyOf(cluster)));
  const netns = networkId === null ? [] : index.find(networkId);
  const machines = allMachines.of(reading.namespace, definition.cluster);
  const pool = { machines, selection: definition.selection, netns, targetPort: definition.targetPort };
  const members = poolMembers(pool, world.health, cache);
  const route = routeOf(reading, definition, members);
  const isReady = route.backends.length > 0;
  const outcome = world.ports.get(reading.key) ?? null;
  const netnsCount = netns.length;
  return { definition, cluster, members, networkId, netnsCount, isReady, outcome, world, index, route };
}

const openPort = ({ outcome }: ListenerFacts): number | null =>
  outcome?.kind === 'open' ? outcome.port : null;

/** `wantOf`, as for a cluster. In addition, a TCP listener needs its open port. */
function listenerWant(facts: ListenerFacts): Publication['want'] {
  const { definition, networkId, outcome, world } = facts;
  if (networkId === null || !world.listeners.machinesKnown) return 'undecided';
  const want = wantOf(healthOfPool(facts));
  if (want !== 'live' || definition.protocol === 'TLS') return want;
  if (outcome === null) return 'undecided';
  return outcome.kind === 'open' ? 'live' : 'down';
}

/** The health of each path to a machine that may get clients. A generator: the first path that is up decides, and a pool has thousands. */
function* healthOfPool({ members, world: { health } }: ListenerFacts) {
  for (const { status, paths } of members)
    if (status.state !== 'Ignored') for (const { backend } of paths) yield health.get(backend.key);
}

/** If two machines report the same address, the route contains it once. */
function routeOf(
  reading: ListenerReading,
  definition: ListenerDefinition,
  members: readonly PoolMember[],
): Route {
  const backends = new Map<string, Backend>();
  for (const { backend } of members) if (backend !== null) backends.set(backend.key, backend);
  return {
    cluster: definition.cluster,
    namespace: reading.namespace,
    backends: Object.freeze([...backends.values()]),
    pool: Object.freeze({ listener: reading.key, allowedCidrs: definition.allowedCidrs }),
  };
}

/** null until the slices are listed, because they show which port the listener had. */
function portRoute({ key }: ListenerReading, service: string, facts: ServedFacts): PortRoute | null {
  const { definition, world, route } = facts;
  if (!world.listeners.slicesListed) return null;
  const preferredPort = openPort(facts) ?? previousPort(definition, service, world);
  return Object.freeze({ name: key, preferredPort, route });
}

/**
 * The port before a restart, from this instance's own slice; without publishing, from the manifest. Otherwise a restart could give the
 * port, which clients still use, to another tenant's listener.
 */
function previousPort(
  { cluster, port }: ListenerDefinition,
  service: string,
  { kube }: World,
): number | null {
  if (kube === null) return port;
  const slices = kube.slices.ours.get(listenerPublicationKey(cluster, service)) ?? [];
  const own = slices.find(({ instance }) => instance === kube.self.instance);
  return own?.object.ports?.[0]?.port ?? null;
}

function servedStatus(
  question: ListenerQuestion,
  serverNames: readonly string[],
  facts: ServedFacts,
): ListenerStatus | null {
  const isShared = facts.definition.protocol === 'TLS';
  return statusOf(question, listenerCondition(question.listener.problems, facts), {
    listenPort: isShared ? null : openPort(facts),
    serverNames: isShared ? serverNames : [],
    members: facts.members.map(({ status }) => status),
  });
}

const unservedStatus = (
  question: ListenerQuestion,
  state: ListenerCondition['state'],
  reason: string,
): ListenerStatus | null =>
  statusOf(question, { state, reason, detail: null }, { listenPort: null, serverNames: [], members: [] });

function statusOf(
  { listener: { reading, definition }, leaving, name: { service, conflict } }: ListenerQuestion,
  { state, reason, detail }: ListenerCondition,
  { listenPort, serverNames, members }: Pick<ListenerStatus, 'listenPort' | 'serverNames' | 'members'>,
): ListenerStatus | null {
  if (leaving) return null;
  const { cluster, protocol, port, targetPort } = definition ?? reading.shown;
  return Object.freeze({
    name: reading.name,
    namespace: reading.namespace,
    cluster,
    protocol,
    port,
    targetPort,
    service,
    listenPort,
    serverNames: Object.freeze([...serverNames]),
    state,
    reason,
    detail,
    ...(conflict !== null && { nameConflict: conflict }),
    members: Object.freeze(members),
  });
}

/** Finds the Services by their annotations, because the edit may have changed the cluster name. */
function existingServices(key: string, { kube }: World): readonly string[] {
  const found: string[] = [];
  for (const [name, service] of kube?.services ?? []) {
    if (listenerLabels(service.metadata)?.listener !== key) continue;
    const ownership = ownershipOf(service);
    if (ownership.kind === 'ours') found.push(listenerPublicationKey(ownership.cluster, name));
  }
  return found;
}
