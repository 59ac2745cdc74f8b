// Compares two desired states. Written out by hand: a generic deep comparison follows each of a cluster's four server names
// into the same route, and takes longer than the decision itself.
import type { ProbeTarget } from '../../health/probe.ts';
import type { PoolTraits, PortRoute, Route, RouteTable } from '../../routing/route-table.ts';
import type { Problem } from '../objects/problem.ts';
import type { ClusterStatus } from './cluster-status.ts';
import type { Desired } from './desired-state.ts';
import type { ListenerStatus, MemberStatus } from './listener-status.ts';
import type { PublicationStatus } from './publication.ts';

/**
 * Returns `next`, with each equal part replaced by the one from `before`, down to single routes and list items. Returns `before`
 * itself if all parts are equal. A changed reference therefore means a changed part, and only changed parts are passed on.
 */
export function settledDesired(before: Desired | null, next: Desired): Desired {
  if (before === null) return next;
  const routes = settledTable(before.routes, next.routes);
  const clusters = settledList(before.clusters, next.clusters, statusKey, sameStatus);
  const backends = settledList(before.backends, next.backends, ({ key }) => key, sameTarget);
  const problems = settledList(before.problems, next.problems, problemKey, sameProblem);
  const ports = settledList(before.ports, next.ports, ({ name }) => name, samePort);
  const heldPorts = sameList(before.heldPorts, next.heldPorts, (a, b) => a === b)
    ? before.heldPorts
    : next.heldPorts;
  const listeners = settledList(before.listeners, next.listeners, listenerKey, sameListener, settledMembers);
  const same =
    before.complete === next.complete &&
    routes === before.routes &&
    clusters === before.clusters &&
    backends === before.backends &&
    problems === before.problems &&
    ports === before.ports &&
    heldPorts === before.heldPorts &&
    listeners === before.listeners;
  return same
    ? before
    : Object.freeze({
        complete: next.complete,
        routes,
        clusters,
        backends,
        problems,
        ports,
        heldPorts,
        listeners,
      });
}

/** If two items share a key, the later one is used. In the worst case an unchanged item is passed on again. */
function settledList<T>(
  before: readonly T[],
  next: readonly T[],
  keyOf: (item: T) => string,
  same: (a: T, b: T) => boolean,
  /** For a changed item: reuses the parts that are equal to the old item. */
  settle: (old: T, item: T) => T = (_old, item) => item,
): readonly T[] {
  if (sameList(before, next, same)) return before;
  const known = new Map(before.map((item) => [keyOf(item), item]));
  return Object.freeze(
    next.map((item) => {
      const old = known.get(keyOf(item));
      if (old === undefined) return item;
      return same(old, item) ? old : settle(old, item);
    }),
  );
}

const sameApiServer = (a: ClusterStatus['apiServer'], b: ClusterStatus['apiServer']): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.address === b.address &&
    a.port === b.port &&
    sameList(a.networkIds, b.networkIds, (x, y) => x === y));

function sameList<T>(a: readonly T[], b: readonly T[], same: (x: T, y: T) => boolean): boolean {
  return a === b || (a.length === b.length && a.every((x, i) => x === b[i] || same(x, b[i]!)));
}

function isSameMap(before: ReadonlyMap<string, Route>, next: ReadonlyMap<string, Route>): boolean {
  for (const [name, route] of next) if (before.get(name) !== route) return false;
  return true;
}

function settledTable(before: RouteTable, next: RouteTable): RouteTable {
  const settled = (old: Route | null, route: Route | null) => (sameRoute(old, route) ? old : route);
  const defaultRoute = settled(before.defaultRoute, next.defaultRoute);
  let same = before.byServerName.size === next.byServerName.size && defaultRoute === before.defaultRoute;
  if (same && isSameMap(before.byServerName, next.byServerName)) return before;
  const byServerName = new Map<string, Route>();
  for (const [name, route] of next.byServerName) {
    const old = before.byServerName.get(name) ?? null;
    const kept = settled(old, route) as Route;
    byServerName.set(name, kept);
    same &&= kept === old;
  }
  return same ? before : Object.freeze({ byServerName, defaultRoute });
}

/** A backend's key contains its address, port, netns path and netns identity, so equal keys mean equal backends. */
function sameRoute(a: Route | null, b: Route | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.cluster === b.cluster &&
    a.namespace === b.namespace &&
    samePool(a.pool, b.pool) &&
    sameList(a.backends, b.backends, (x, y) => x === y || x.key === y.key)
  );
}

const samePool = (a: PoolTraits | undefined, b: PoolTraits | undefined): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.listener === b.listener &&
    sameList(a.allowedCidrs, b.allowedCidrs, (x, y) => x === y));

const samePort = (a: PortRoute, b: PortRoute): boolean =>
  a.name === b.name && a.preferredPort === b.preferredPort && sameRoute(a.route, b.route);

const listenerKey = ({ namespace, name }: ListenerStatus): string => `${namespace}/${name}`;

/** If one of thousands of members changes, the others are not passed on again. */
function settledMembers(old: ListenerStatus, item: ListenerStatus): ListenerStatus {
  const members = settledList(old.members, item.members, ({ machine }) => machine, sameMember);
  return Object.freeze({ ...item, members });
}

function sameListener(a: ListenerStatus, b: ListenerStatus): boolean {
  return (
    a.name === b.name &&
    a.namespace === b.namespace &&
    a.cluster === b.cluster &&
    a.protocol === b.protocol &&
    a.port === b.port &&
    a.targetPort === b.targetPort &&
    a.service === b.service &&
    a.listenPort === b.listenPort &&
    a.state === b.state &&
    a.reason === b.reason &&
    a.detail === b.detail &&
    a.nameConflict === b.nameConflict &&
    sameList(a.serverNames, b.serverNames, (x, y) => x === y) &&
    sameList(a.members, b.members, sameMember)
  );
}

const sameMember = (a: MemberStatus, b: MemberStatus): boolean =>
  a === b ||
  (a.machine === b.machine &&
    a.key === b.key &&
    a.address === b.address &&
    a.netns === b.netns &&
    a.state === b.state &&
    a.up === b.up &&
    a.reason === b.reason);

const sameTarget = (a: ProbeTarget, b: ProbeTarget): boolean =>
  a === b || (a.key === b.key && a.serverName === b.serverName && a.check === b.check);

const problemKey = ({ origin, reason }: Problem): string => `${origin}\0${reason}`;

const sameProblem = (a: Problem, b: Problem): boolean => a.origin === b.origin && a.reason === b.reason;

const statusKey = ({ namespace, name, origin }: ClusterStatus): string => `${namespace}\0${name}\0${origin}`;

function sameStatus(a: ClusterStatus, b: ClusterStatus): boolean {
  return (
    a.name === b.name &&
    a.namespace === b.namespace &&
    a.origin === b.origin &&
    a.state === b.state &&
    a.reason === b.reason &&
    samePublication(a.publication, b.publication) &&
    sameApiServer(a.apiServer, b.apiServer) &&
    a.unusedSpecNetworkId === b.unusedSpecNetworkId &&
    sameList(a.serverNames, b.serverNames, (x, y) => x === y) &&
    sameList(a.backends, b.backends, (x, y) => x.key === y.key && x.netns === y.netns && x.up === y.up)
  );
}

const samePublication = (a: PublicationStatus | undefined, b: PublicationStatus | undefined): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.service === b.service &&
    a.slice === b.slice &&
    a.readyInstances === b.readyInstances &&
    a.kubeconfig === b.kubeconfig &&
    a.problem === b.problem);
