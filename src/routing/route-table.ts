// The route table: plain frozen data, built new by the control side and swapped into the data plane by one reference.
// It knows names and backends; it never asks anything of the outside.
import type { NetnsRef } from '../netns/netns-ref.ts';
import { endpointText } from './endpoint.ts';

/** One way to an API server: an address inside a netns. */
export interface Backend {
  /** Names this backend in reports, health and metrics: stable while address, port and netns stay the same. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly netns: NetnsRef | null;
}

export interface Route {
  readonly cluster: string;
  readonly namespace: string;
  /** Healthy backends in the order in which they are tried; empty while there is none. */
  readonly backends: readonly Backend[];
  /** Present for an additional listener: its backends are equals, and the one with the fewest connections is tried first. */
  readonly pool?: PoolTraits;
}

/** What an additional listener is, beyond the route of a cluster's own API server. */
export interface PoolTraits {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly listener: string;
  /** Clients from elsewhere are refused; empty: everybody may come. */
  readonly allowedCidrs: readonly string[];
}

export interface RouteTable {
  /** By server name: lower case, no trailing dot. */
  readonly byServerName: ReadonlyMap<string, Route>;
  /** For clients that send no server name; null refuses them. */
  readonly defaultRoute: Route | null;
}

export const EMPTY_ROUTE_TABLE: RouteTable = Object.freeze({ byServerName: new Map(), defaultRoute: null });

export interface RouteEntry {
  readonly serverNames: readonly string[];
  readonly route: Route;
}

/** The first entry that claims a name keeps it: callers sort, so that every instance decides alike. */
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
 * A port of its own that leads to one pool, whatever the client says: a TCP listener. The control side names the port it would like;
 * which one was really taken only the data plane knows, and says so.
 */
export interface PortRoute {
  /** `<namespace>/<name>` of the AdditionalListener: one port each. */
  readonly name: string;
  /** The one it had before, as our own slice or its manifest says; null, or one outside of the range: any of it. */
  readonly preferredPort: number | null;
  readonly route: Route;
}

/** What came of the wish for a port, by the name of the PortRoute. */
export type PortOutcome =
  | { readonly kind: 'open'; readonly port: number }
  /** One sentence: the range is full, or the port is busy. Tried again with the next change and the next tick. */
  | { readonly kind: 'failed'; readonly reason: string };
