// Computes the changes between two route tables, and applies them to the old table. Only the changes cross from one thread to the
// other, and unchanged routes stay the same objects there. Pure.
import { changedList, frozen, type ListChanges, listChanges } from './changes.ts';
import type { Backend, Route, RouteEntry, RouteTable } from './route-table.ts';

/** A pool can have thousands of backends. Its route is sent without them, and `pool` refers to the old backends by index. */
export interface RouteChange extends RouteEntry {
  /** Indexes into the old backends of the first server name, and new backends. */
  readonly pool?: ListChanges<Backend>;
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
  const pool = listChanges(backendsBefore(before, serverNames), route.backends, identityOf);
  return { serverNames, route: { ...route, backends: [] }, pool };
}

const backendsBefore = (before: RouteTable, [first = '']: readonly string[]): readonly Backend[] =>
  before.byServerName.get(first)?.backends ?? [];

/** The key identifies a backend completely. */
const identityOf = ({ key }: Backend): string => key;

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
      pool === undefined
        ? route
        : { ...route, backends: changedList(backendsBefore(before, serverNames), pool) };
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
  const backends = changedList(old, listChanges(old, route.backends, identityOf));
  return Object.freeze({ ...route, ...(route.pool !== undefined && { pool: frozen(route.pool) }), backends });
}
