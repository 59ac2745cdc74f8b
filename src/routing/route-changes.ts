// What differs between two route tables, and the later table rebuilt from the earlier one and that: so only what changed has to
// cross from one thread to the other, and what did not stays the very same object there. Pure.
import type { Backend, Route, RouteEntry, RouteTable } from './route-table.ts';

/** A pool may have thousands of backends of which one changed: then its route comes without them, and they as what they were. */
export interface RouteChange extends RouteEntry {
  /** Places among the backends that the first name led to before, and new ones. */
  readonly pool?: readonly (number | Backend)[];
}

export interface RouteChanges {
  /** Names that lead somewhere else now, or for the first time. */
  readonly set: readonly RouteChange[];
  /** Names that lead nowhere any more. */
  readonly removed: readonly string[];
  /** Left out when it is the same. */
  readonly defaultRoute?: Route | null;
}

/** Goes by reference: a route that says the same must be the same object. null when nothing changed. */
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
  // Others may be the default route as well, and must stay one object with it.
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

/** A new frozen table; routes that are not among the changes, and backends that stay in a changed one, keep their identity. */
export function changedTable(before: RouteTable, changes: RouteChanges): RouteTable {
  // One message may name one route twice, as the default too: it stays one.
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
  // By key, which is all there is to a backend; a pool may have thousands.
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
