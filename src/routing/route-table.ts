// The route table: plain frozen data. The control side builds a new table, and the data plane swaps it in by one reference.
// It contains server names and backends and does no I/O.
import type { NetnsRef } from '../netns/netns-ref.ts';
import { endpointText } from './addresses.ts';

/** One address of an API server, inside a netns. */
export interface Backend {
  /** Identifies this backend in reports, health and metrics. Stable while address, port and netns stay the same. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly netns: NetnsRef | null;
}

export interface Route {
  readonly cluster: string;
  readonly namespace: string;
  /** Healthy backends in the order in which they are tried. Empty if no backend is healthy. */
  readonly backends: readonly Backend[];
  /** Present for an additional listener: the backend with the fewest connections is tried first. */
  readonly pool?: PoolTraits;
}

/** Extra properties of an additional listener's route. */
export interface PoolTraits {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly listener: string;
  /** Clients from other networks are rejected. Empty: all clients are allowed. */
  readonly allowedCidrs: readonly string[];
}

export interface RouteTable {
  /** Keys are server names in lower case, without a trailing dot. */
  readonly byServerName: ReadonlyMap<string, Route>;
  /** For clients that send no server name. null rejects them. */
  readonly defaultRoute: Route | null;
}

export const EMPTY_ROUTE_TABLE: RouteTable = Object.freeze({ byServerName: new Map(), defaultRoute: null });

export interface RouteEntry {
  readonly serverNames: readonly string[];
  readonly route: Route;
}

/** The first entry that claims a name keeps it. Callers sort the entries: every instance then builds the same table. */
export function routeTable(entries: Iterable<RouteEntry>, defaultRoute: Route | null): RouteTable {
  const byServerName = new Map<string, Route>();
  for (const { serverNames, route } of entries) {
    Object.freeze(route.backends);
    Object.freeze(route);
    for (const name of serverNames) if (!byServerName.has(name)) byServerName.set(name, route);
  }
  return Object.freeze({ byServerName, defaultRoute });
}

export function backendKey(backend: Omit<Backend, 'key'>): string {
  const where = backend.netns === null ? '' : `@${backend.netns.path}#${backend.netns.identity}`;
  return `${endpointText(backend)}${where}`;
}

/**
 * A TCP listener: its own port, which leads to one pool regardless of the client's bytes. The control side names a preferred port.
 * The data plane chooses the actual port and reports it.
 */
export interface PortRoute {
  /** `<namespace>/<name>` of the AdditionalListener. Each has one port. */
  readonly name: string;
  /** The previous port, from this instance's slice or from the manifest. null or a port outside the range: any port of the range. */
  readonly preferredPort: number | null;
  readonly route: Route;
}

/** The result of opening a port for a PortRoute. */
export type PortOutcome =
  | { readonly kind: 'open'; readonly port: number }
  /** `reason` is one sentence, for example that the range is full. Retried after a delay and at the next change. */
  | { readonly kind: 'failed'; readonly reason: string };
