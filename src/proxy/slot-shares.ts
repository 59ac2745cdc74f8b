// How the slots of an engine are shared out among clusters, so that one cluster, or several together, never take the last one. Pure.
import type { PortRoute, RouteTable } from '../routing/route-table.ts';
import type { SlotShares } from './engine.ts';
import { slotGroup } from './share-key.ts';

/** One slot in so many stays free of routed connections, so that a newcomer can always say where it wants to go. */
const HELLO_PART = 32;
/** All reserves together take at most one slot in so many: the other slots go to the clusters that need them. */
const RESERVED_PART = 4;
/** More would not be noticed: an API server's clients share a few connections each. */
const MOST_RESERVED = 128;

export function slotShares(maxConnections: number, groups: ReadonlySet<string>): SlotShares {
  const forHellos = Math.floor(maxConnections / HELLO_PART);
  const reserved = Math.min(
    MOST_RESERVED,
    Math.floor(maxConnections / (RESERVED_PART * Math.max(1, groups.size))),
  );
  return { reserved, common: maxConnections - forHellos - groups.size * reserved, groups };
}

/** Clusters that clients can reach now, by their own names, their listeners' names or their listeners' ports. */
export function routedGroups(routes: RouteTable, ports: readonly PortRoute[]): ReadonlySet<string> {
  const groups = new Set<string>();
  for (const route of [...routes.byServerName.values(), ...ports.map((port) => port.route)])
    if (route.backends.length > 0) groups.add(slotGroup(route));
  return groups;
}
