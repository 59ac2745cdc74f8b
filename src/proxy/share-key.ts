// The keys by which the engine counts connections: one for each cluster, and one for each additional listener.
import type { Route } from '../routing/route-table.ts';

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
