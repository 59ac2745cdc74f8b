// Divides the slots of an engine among clusters, so that no cluster, and no set of clusters, can use all of them. Pure.
import type { PortRoute, RouteTable } from '../routing/route-table.ts';
import type { SlotShares } from './engine.ts';
import { slotGroup } from './share-key.ts';

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
