// What differs between two route tables, and the later table rebuilt from the earlier one and that: so only what changed has to
// cross from one thread to the other, and what did not stays the very same object there. Pure.
import type { Backend, Route, RouteEntry, RouteTable } from './route-table.ts';

export interface RouteChanges {
  /** Names that lead somewhere else now, or for the first time. */
  readonly set: readonly RouteEntry[];
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
    set: Array.from(moved, ([route, serverNames]) => ({ serverNames, route })),
    removed,
    ...(!sameDefault && { defaultRoute: after.defaultRoute }),
  };
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
  for (const { serverNames, route } of changes.set) {
    const old = serverNames.flatMap((name) => before.byServerName.get(name)?.backends ?? []);
    for (const name of serverNames) byServerName.set(name, rebuild(route, old));
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
  return Object.freeze({ ...route, backends: Object.freeze(backends) });
}
