// What the engine counts connections by: a cluster's own, and those of each additional listener apart.
import type { Route } from '../routing/route-table.ts';

const LISTENER = 'listener:';

export function shareKey({ namespace, cluster, pool }: Omit<Route, 'backends'>): string {
  return pool === undefined ? `${namespace}/${cluster}` : listenerKey(pool.listener);
}

/** A cluster and its listeners: together they have the slots that are kept for one tenant. */
export function slotGroup({ namespace, cluster }: Omit<Route, 'backends'>): string {
  return `${namespace}/${cluster}`;
}

/** Of an additional listener, by `<namespace>/<name>`; its port has this name too. */
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
