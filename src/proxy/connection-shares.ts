// The shares of clusters and additional listeners in the engine: the keys by which it counts their connections, and how its slots are
// divided, so that no cluster, and no set of clusters, can use all of them. Pure.
import type { PortRoute, Route, RouteTable } from '../routing/route-table.ts';
import type { SlotShares } from './engine.ts';

const LISTENER = 'listener:';

export function shareKey({ namespace, cluster, pool }: Omit<Route, 'backends'>): string {
  return pool === undefined ? `${namespace}/${cluster}` : listenerKey(pool.listener);
}

/** A cluster and its listeners form one group, which shares its reserved slots. */
export function slotGroup({ namespace, cluster }: Omit<Route, 'backends'>): string {
  return `${namespace}/${cluster}`;
}

/** The key of the additional listener `<namespace>/<name>`. The engine's listener for its port has the same name. */
export function listenerKey(listener: string): string {
  return `${LISTENER}${listener}`;
}

/** Open connections by cluster and by additional listener, each `<namespace>/<name>`. */
export function connectionsByKind(shares: ReadonlyMap<string, number>): {
  readonly clusters: ReadonlyMap<string, number>;
  readonly listeners: ReadonlyMap<string, number>;
} {
  const clusters = new Map<string, number>();
  const listeners = new Map<string, number>();
  for (const [key, count] of shares) {
    if (key.startsWith(LISTENER)) listeners.set(key.slice(LISTENER.length), count);
    else clusters.set(key, count);
  }
  return { clusters, listeners };
}

/** One slot in 32 is never used by a routed connection, so that a new client can always send its hello. */
const HELLO_PART = 32;
/** All reserved slots together are at most one slot in four. Clusters that need more use the others. */
const RESERVED_PART = 4;
/** More reserved slots would not help: each client of an API server multiplexes over a few connections. */
const MOST_RESERVED = 128;

export function slotShares(maxConnections: number, groups: ReadonlySet<string>): SlotShares {
  const forHellos = Math.floor(maxConnections / HELLO_PART);
  const reserved = Math.min(
    MOST_RESERVED,
    Math.floor(maxConnections / (RESERVED_PART * Math.max(1, groups.size))),
  );
  return { reserved, common: maxConnections - forHellos - groups.size * reserved, groups };
}

/** The clusters that clients can reach now: by their own names, by their listeners' names or by their listeners' ports. */
export function routedGroups(routes: RouteTable, ports: readonly PortRoute[]): ReadonlySet<string> {
  const groups = new Set<string>();
  for (const route of [...routes.byServerName.values(), ...ports.map((port) => port.route)])
    if (route.backends.length > 0) groups.add(slotGroup(route));
  return groups;
}
