// Whether two desired states say the same. Written out, because a generic deep comparison follows each of four server names
// into the same route, and takes longer than the decision itself.
import { isDeepStrictEqual } from 'node:util';
import type { ProbeTarget } from '../health/probe-target.ts';
import type { Route, RouteTable } from '../routing/route-table.ts';
import type { ClusterStatus } from './cluster-status.ts';
import type { Desired } from './desired-state.ts';

/** `next`, with every part that says the same as before replaced by the one from before; `before` itself if all do. */
export function settledDesired(before: Desired | null, next: Desired): Desired {
  if (before === null) return next;
  const routes = sameTable(before.routes, next.routes) ? before.routes : next.routes;
  const clusters = sameList(before.clusters, next.clusters, sameStatus) ? before.clusters : next.clusters;
  const backends = sameList(before.backends, next.backends, sameTarget) ? before.backends : next.backends;
  const problems = isDeepStrictEqual(before.problems, next.problems) ? before.problems : next.problems;
  const same =
    before.complete === next.complete &&
    routes === before.routes &&
    clusters === before.clusters &&
    backends === before.backends &&
    problems === before.problems;
  return same ? before : Object.freeze({ complete: next.complete, routes, clusters, backends, problems });
}

function sameList<T>(a: readonly T[], b: readonly T[], same: (x: T, y: T) => boolean): boolean {
  return a.length === b.length && a.every((x, i) => same(x, b[i]!));
}

function sameTable(a: RouteTable, b: RouteTable): boolean {
  if (a.byServerName.size !== b.byServerName.size || !sameRoute(a.defaultRoute, b.defaultRoute)) return false;
  for (const [name, route] of a.byServerName)
    if (!sameRoute(route, b.byServerName.get(name) ?? null)) return false;
  return true;
}

/** A backend's key holds its address, port, netns path and identity: all there is to it. */
function sameRoute(a: Route | null, b: Route | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.cluster === b.cluster &&
    a.namespace === b.namespace &&
    sameList(a.backends, b.backends, (x, y) => x.key === y.key)
  );
}

const sameTarget = (a: ProbeTarget, b: ProbeTarget): boolean =>
  a.key === b.key && a.serverName === b.serverName;

function sameStatus(a: ClusterStatus, b: ClusterStatus): boolean {
  return (
    a.name === b.name &&
    a.namespace === b.namespace &&
    a.origin === b.origin &&
    a.state === b.state &&
    a.reason === b.reason &&
    sameList(a.serverNames, b.serverNames, (x, y) => x === y) &&
    sameList(a.backends, b.backends, (x, y) => x.key === y.key && x.netns === y.netns && x.up === y.up)
  );
}
