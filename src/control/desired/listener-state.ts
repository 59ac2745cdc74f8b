// The desired state of additional listeners: route, port or server names, members, publication, and state with its reason. Ignores
// whether the cluster's API server answers: listeners are needed most when it does not. Pure.
import type { ProbeTarget } from '../../health/probe.ts';
import type { Backend, PortRoute, Route, RouteEntry } from '../../routing/route-table.ts';
import { isClusterName, serverNamesOf } from '../objects/cluster-name.ts';
import { listenerLabels, listenerPublicationKey, selectorMark } from '../objects/listener-labels.ts';
import type { NamedListener } from '../objects/listener-names.ts';
import { ownershipOf } from '../objects/ownership.ts';
import { byText } from '../objects/text-order.ts';
import type { ListenerReading, ListenerWish } from '../sources/additional-listener.ts';
import { keyOf, machineNetworkOf, nameOf, namespaceOf, objectOf } from '../sources/cluster-reading.ts';
import type { ClusterReading } from '../sources/cluster-source.ts';
import type { JudgedListener } from '../world/listener-world.ts';
import type { World } from '../world/world.ts';
import type { DesiredContext } from './desired-context.ts';
import { type ListenerCondition, type ListenerFacts, listenerCondition } from './listener-condition.ts';
import type { ListenerStatus } from './listener-status.ts';
import type { ListenerName, NameClaims } from './name-claims.ts';
import {
  isMemberUnjudged,
  type MachineIndex,
  machineIndex,
  type PoolMember,
  poolMembers,
} from './pool-members.ts';
import type { Publication } from './publication.ts';

export interface ListenerStates {
  /** Routes of TLS listeners. */
  readonly entries: readonly RouteEntry[];
  /** Sorted by name. */
  readonly ports: readonly PortRoute[];
  /** Sorted. */
  readonly heldPorts: readonly number[];
  /** Sorted by namespace and name. */
  readonly statuses: readonly ListenerStatus[];
  readonly targets: readonly ProbeTarget[];
  readonly publications: readonly Publication[];
  /** Publication keys of listeners that cannot be served now but keep their Services. */
  readonly reserved: readonly string[];
}

const NOTHING: ListenerStates = Object.freeze({
  entries: [],
  ports: Object.freeze([]),
  heldPorts: Object.freeze([]),
  statuses: Object.freeze([]),
  targets: [],
  publications: [],
  reserved: [],
});

export function listenerStates(context: DesiredContext): ListenerStates {
  const { world, claims, cache } = context;
  const { listeners, departing } = world.listeners;
  if (listeners.length === 0 && departing.size === 0 && world.listeners.advertised.size === 0) return NOTHING;
  const machines = cache.last(machineIndex, world.listeners.machines);
  const clusters = clustersByName(world.clusters, claims);
  const all = [
    ...listeners.map((listener) => ({ listener, leaving: false })),
    ...[...departing.values()].map(({ listener }) => ({ listener, leaving: true })),
  ];
  const listenerContext = { ...context, machines };
  const placed = all.map(({ listener, leaving }) => {
    const { cluster } = listener.wish ?? listener.reading.shown;
    const found = clusters.get(`${listener.reading.namespace}/${cluster}`) ?? null;
    return placedListener(listener, leaving, found, listenerContext);
  });
  const ports = placed
    .flatMap(({ port }) => (port === null ? [] : [port]))
    .sort((a, b) => byText(a.name, b.name));
  return {
    entries: placed.flatMap(({ entry }) => (entry === null ? [] : [entry])),
    ports: Object.freeze(ports),
    heldPorts: Object.freeze(heldPorts(ports, world)),
    statuses: Object.freeze(
      placed
        .flatMap(({ status }) => (status === null ? [] : [status]))
        .sort((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name)),
    ),
    targets: targetsOf(placed),
    publications: placed.flatMap(({ publication }) => (publication === null ? [] : [publication])),
    reserved: placed.flatMap(({ reserved }) => reserved),
  };
}

/** Nested loops instead of flatMap: each turn may have thousands of targets. */
function targetsOf(placed: readonly Placed[]): readonly ProbeTarget[] {
  const targets: ProbeTarget[] = [];
  for (const { members } of placed)
    for (const { paths } of members) for (const { target } of paths) targets.push(target);
  return targets;
}

interface Placed {
  /** null for a listener that is being withdrawn: it is no longer shown. */
  readonly status: ListenerStatus | null;
  readonly members: readonly PoolMember[];
  readonly entry: RouteEntry | null;
  readonly port: PortRoute | null;
  readonly publication: Publication | null;
  readonly reserved: readonly string[];
}

interface ListenerContext extends DesiredContext {
  readonly machines: MachineIndex;
}

function placedListener(
  listener: JudgedListener,
  leaving: boolean,
  cluster: ClusterReading | null,
  context: ListenerContext,
): Placed {
  const { reading, wish, problems } = listener;
  const name = wish === null ? NO_NAME : context.claims.listenerName(namedListener(reading, wish));
  const { service } = name;
  const nowhere = (
    state: ListenerCondition['state'],
    reason: string,
    reserved: readonly string[],
  ): Placed => ({
    status: leaving ? null : statusOf(listener, { state, reason, detail: null }, name, [], null, []),
    members: [],
    entry: null,
    port: null,
    publication: null,
    reserved,
  });
  if (wish === null || service === null) {
    // Its existing Services stay until an operator corrects the listener.
    const reasons = name.conflict === null ? problems : [...problems, name.conflict];
    return nowhere('invalid', reasons.join('; '), existingServices(reading.key, context.world));
  }
  if (cluster === null)
    return nowhere(
      problems.length > 0 ? 'invalid' : 'pending',
      [...problems, `there is no cluster ${wish.cluster} in namespace ${reading.namespace} (yet)`].join('; '),
      [],
    );

  const { world, index, settings, cache } = context;
  const networkId = machineNetworkOf(cluster, world.lastKnown.get(keyOf(cluster)));
  const netns = networkId === null ? [] : index.find(networkId);
  const machines = context.machines.of(reading.namespace, wish.cluster);
  const pool = { machines, selection: wish.selection, netns, targetPort: wish.targetPort };
  const members = poolMembers(pool, world.health, cache);
  const route = routeOf(listener, wish, members);
  const ways = [wish.protocol, world.listeners.former.get(reading.key)?.protocol];
  const serverNames = ways.includes('TLS') ? serverNamesOf(service, settings.namespace) : [];
  const outcome = world.ports.get(reading.key) ?? null;
  const open = outcome?.kind === 'open' ? outcome.port : null;
  const isReady = route.backends.length > 0;
  const facts = { wish, members, networkId, netnsCount: netns.length, isReady, outcome, world, index };
  const standing = listenerCondition(problems, facts);
  const publication: Publication = Object.freeze({
    cluster: wish.cluster,
    namespace: namespaceOf(cluster),
    object: objectOf(cluster),
    want: leaving ? 'leaving' : wanted(facts),
    near: netns.length > 0,
    listener: Object.freeze({
      key: reading.key,
      service,
      port: wish.port,
      listenPort: wish.protocol === 'TLS' ? 'shared' : open,
      selector: selectorMark(reading.object.uid, wish.selectorDigest),
    }),
  });
  return {
    status: leaving
      ? null
      : wish.protocol === 'TLS'
        ? statusOf(listener, standing, name, serverNames, null, members)
        : statusOf(listener, standing, name, [], open, members),
    members,
    entry: ways.includes('TLS') ? { serverNames, route } : null,
    port:
      ways.includes('TCP') && world.listeners.slicesSeen
        ? Object.freeze({
            name: reading.key,
            preferredPort: open ?? portOfBefore(publication, world),
            route,
          })
        : null,
    publication,
    reserved: [],
  };
}

/** As for a cluster: while the health is unknown, published objects stay unchanged. */
function wanted({ wish, members, networkId, isReady, outcome, world }: ListenerFacts): Publication['want'] {
  const { machinesKnown } = world.listeners;
  if (networkId === null || !machinesKnown) return 'unjudged';
  const isOpen = wish.protocol === 'TLS' || outcome?.kind === 'open';
  if (isReady) return isOpen ? 'live' : outcome === null ? 'unjudged' : 'down';
  const wants = members.filter(({ status }) => status.state === 'NotReady');
  return wants.some((member) => isMemberUnjudged(member, world.health)) ? 'unjudged' : 'down';
}

/** If two machines report the same address, the route contains it once. */
function routeOf({ reading }: JudgedListener, wish: ListenerWish, members: readonly PoolMember[]): Route {
  const backends = new Map<string, Backend>();
  for (const { backend } of members) if (backend !== null) backends.set(backend.key, backend);
  return {
    cluster: wish.cluster,
    namespace: reading.namespace,
    backends: Object.freeze([...backends.values()]),
    pool: Object.freeze({ listener: reading.key, allowedCidrs: wish.allowedCidrs }),
  };
}

function statusOf(
  { reading, wish }: JudgedListener,
  { state, reason, detail }: ListenerCondition,
  { service, conflict }: ListenerName,
  serverNames: readonly string[],
  listenPort: number | null,
  members: readonly PoolMember[],
): ListenerStatus {
  const { cluster, protocol, port, targetPort } = wish ?? reading.shown;
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
    members: Object.freeze(members.map(({ status }) => status)),
  });
}

/** By `<namespace>/<name>`: the holder of the name, or a cluster that is not proxied. Other namespaces' claims do not affect the latter. */
function clustersByName(
  clusters: readonly ClusterReading[],
  claims: NameClaims,
): ReadonlyMap<string, ClusterReading> {
  const found = new Map<string, ClusterReading>();
  for (const reading of clusters) {
    const name = nameOf(reading);
    if (!isClusterName(name)) continue;
    const key = `${namespaceOf(reading)}/${name}`;
    const isUnclaimed = reading.kind === 'not-proxied' && !found.has(key);
    if (claims.holds(reading) || isUnclaimed) found.set(key, reading);
  }
  return found;
}

/** All listeners that claim a name, including those that are being withdrawn. */
export function namedListeners({ listeners: { listeners, departing } }: World): readonly NamedListener[] {
  const named: NamedListener[] = [];
  const add = ({ reading, wish }: JudgedListener) => {
    if (wish !== null) named.push(namedListener(reading, wish));
  };
  for (const listener of listeners) add(listener);
  for (const { listener } of departing.values()) add(listener);
  return named;
}

const namedListener = (
  { key, createdAtMs }: ListenerReading,
  { cluster, poolName }: ListenerWish,
): NamedListener => ({ key, createdAtMs, cluster, poolName });

const NO_NAME: ListenerName = { service: null, conflict: null };

/**
 * The port before a restart, from this instance's own slice. Without publishing, the manifest's port is the only source. Without it, a
 * restart could give a port that clients know to another tenant's listener.
 */
function portOfBefore({ cluster, listener }: Publication, { kube }: World): number | null {
  if (listener === undefined) return null;
  if (kube === null) return listener.port;
  const slices = kube.slices.ours.get(listenerPublicationKey(cluster, listener.service)) ?? [];
  const own = slices.find(({ instance }) => instance === kube.self.instance);
  return own?.object.ports?.[0]?.port ?? null;
}

/** Excludes ports that stay open: they are in use anyway. */
function heldPorts(ports: readonly PortRoute[], { listeners, ports: outcomes }: World): number[] {
  const held = new Set(listeners.advertised.keys());
  for (const { name } of ports) {
    const outcome = outcomes.get(name);
    if (outcome?.kind === 'open') held.delete(outcome.port);
  }
  return [...held].sort((a, b) => a - b);
}

/** Finds the Services by their own marks, because the edit may have changed the cluster name. */
function existingServices(key: string, { kube }: World): readonly string[] {
  const found: string[] = [];
  for (const [name, service] of kube?.services ?? []) {
    if (listenerLabels(service.metadata)?.listener !== key) continue;
    const ownership = ownershipOf(service);
    if (ownership.kind === 'ours') found.push(listenerPublicationKey(ownership.cluster, name));
  }
  return found;
}
