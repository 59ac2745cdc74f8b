// Computes the changes between two route tables, and applies them to the old table. Only the changes cross from one thread to the
// other, and unchanged routes stay the same objects there. Pure.
import type { Backend, Route, RouteEntry, RouteTable } from './route-table.ts';

/** A pool can have thousands of backends. Its route is sent without them, and `pool` refers to the old backends by index. */
export interface RouteChange extends RouteEntry {
  /** Indexes into the old backends of the first server name, and new backends. */
  readonly pool?: readonly (number | Backend)[];
}

export interface RouteChanges {
  /** Server names with a new or changed route. */
  readonly set: readonly RouteChange[];
  /** Server names that no longer have a route. */
  readonly removed: readonly string[];
  /** Absent if it did not change. */
  readonly defaultRoute?: Route | null;
}

/** Compares routes by reference: an unchanged route must be the same object. Returns null if nothing changed. */
export function routeChanges(before: RouteTable, after: RouteTable): RouteChanges | null {
  const moved = new Map<Route, string[]>();
  for (const [name, route] of after.byServerName) {
    if (before.byServerName.get(name) === route) continue;
    const names = moved.get(route);
    if (names === undefined) moved.set(route, [name]);
    else names.push(name);
  }
  const removed = [...before.byServerName.keys()].filter((name) => !after.byServerName.has(name));
  const sameDefault = before.defaultRoute === after.defaultRoute;
  if (moved.size === 0 && removed.length === 0 && sameDefault) return null;
  return {
    set: Array.from(moved, ([route, serverNames]) => routeChange(before, serverNames, route)),
    removed,
    ...(!sameDefault && { defaultRoute: after.defaultRoute }),
  };
}

function routeChange(before: RouteTable, serverNames: readonly string[], route: Route): RouteChange {
  // A route without a pool can also be the default route. Both must stay one object.
  if (route.pool === undefined) return { serverNames, route };
  const places = new Map(backendsBefore(before, serverNames).map((backend, place) => [backend.key, place]));
  const pool = route.backends.map((backend) => places.get(backend.key) ?? backend);
  return { serverNames, route: { ...route, backends: [] }, pool };
}

const backendsBefore = (before: RouteTable, [first = '']: readonly string[]): readonly Backend[] =>
  before.byServerName.get(first)?.backends ?? [];

function poolBackends(
  before: RouteTable,
  serverNames: readonly string[],
  pool: readonly (number | Backend)[],
): readonly Backend[] {
  const old = backendsBefore(before, serverNames);
  return pool.map((each) => {
    const backend = typeof each === 'number' ? old[each] : each;
    if (backend === undefined) throw new Error(`there is no backend ${each} among ${old.length}`);
    return backend;
  });
}

/** Returns a new frozen table. Unchanged routes, and unchanged backends of changed routes, stay the same objects. */
export function changedTable(before: RouteTable, changes: RouteChanges): RouteTable {
  // A message can contain a route twice, once as the default route. It must stay one object.
  const rebuilt = new Map<Route, Route>();
  const rebuild = (route: Route, old: readonly Backend[]): Route => {
    const known = rebuilt.get(route) ?? frozenRoute(route, old);
    rebuilt.set(route, known);
    return known;
  };
  const byServerName = new Map(before.byServerName);
  for (const name of changes.removed) byServerName.delete(name);
  for (const { serverNames, route, pool } of changes.set) {
    const routes = new Set(serverNames.map((name) => before.byServerName.get(name)));
    const old = [...routes].flatMap((was) => was?.backends ?? []);
    const whole =
      pool === undefined ? route : { ...route, backends: poolBackends(before, serverNames, pool) };
    const next = rebuild(whole, old);
    for (const name of serverNames) byServerName.set(name, next);
  }
  const { defaultRoute } = changes;
  return Object.freeze({
    byServerName,
    defaultRoute:
      defaultRoute === undefined
        ? before.defaultRoute
        : defaultRoute && rebuild(defaultRoute, before.defaultRoute?.backends ?? []),
  });
}

function frozenRoute(route: Route, old: readonly Backend[]): Route {
  // The key identifies a backend completely. A map keeps this fast for pools with thousands of backends.
  const byKey = new Map(old.map((backend) => [backend.key, backend]));
  const backends = route.backends.map((backend) => {
    const known = byKey.get(backend.key);
    return known ?? Object.freeze({ ...backend, netns: backend.netns && Object.freeze(backend.netns) });
  });
  if (route.pool !== undefined) {
    Object.freeze(route.pool.allowedCidrs);
    Object.freeze(route.pool);
  }
  return Object.freeze({ ...route, backends: Object.freeze(backends) });
}
