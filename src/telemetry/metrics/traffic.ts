// Counts the traffic of ended connections, by cluster and by additional listener. Thousands of connections can end per second, so it
// keeps plain numbers and builds no strings. The counts of deleted clusters and listeners are dropped.
import type { ConnectionEnding } from '../../proxy/connection-record.ts';
import { PairMap } from './pair-map.ts';

/** The fields of an ended connection that are counted. */
export type CountedTraffic = Pick<
  ConnectionEnding,
  'cluster' | 'namespace' | 'pool' | 'bytesFromClient' | 'bytesFromBackend'
> & { readonly backend: unknown };

/** Counters since the start of the process: use the difference of two readings. Bytes count when a connection ends. */
export interface Traffic {
  /** Ended connections, served or not. Ended plus open connections are all connections ever accepted. */
  readonly ended: number;
  /** Ended connections that reached no backend. */
  readonly unserved: number;
  readonly bytesFromClient: number;
  readonly bytesFromBackend: number;
}

/** A cluster or listener without connections has zeros. */
export interface TrafficSource {
  /** All connections, including those that matched no cluster. */
  readonly total: Traffic;
  /** Connections to the cluster's API server, without those of its additional listeners. */
  cluster(namespace: string, name: string): Traffic;
  /** By `<namespace>/<name>`. */
  listener(key: string): Traffic;
}

class Tally implements Traffic {
  ended = 0;
  unserved = 0;
  bytesFromClient = 0;
  bytesFromBackend = 0;

  add({ backend, bytesFromClient, bytesFromBackend }: CountedTraffic): void {
    this.ended += 1;
    if (backend === null) {
      this.unserved += 1;
      return;
    }
    this.bytesFromClient += bytesFromClient;
    this.bytesFromBackend += bytesFromBackend;
  }
}

export interface ClusterTraffic {
  readonly namespace: string;
  readonly cluster: string;
  readonly direct: Traffic;
  readonly byListeners: Traffic;
}

export const NO_TRAFFIC: Traffic = Object.freeze(new Tally());

export class TrafficCounts implements TrafficSource {
  readonly #total = new Tally();
  readonly #clusters = new PairMap((namespace, cluster) => ({
    namespace,
    cluster,
    direct: new Tally(),
    byListeners: new Tally(),
  }));
  readonly #listeners = new Map<string, Tally>();

  add(ending: CountedTraffic): void {
    const { namespace, cluster, pool } = ending;
    this.#total.add(ending);
    if (namespace === null || cluster === null) return;
    const { direct, byListeners } = this.#clusters.at(namespace, cluster);
    (pool === null ? direct : byListeners).add(ending);
    if (pool !== null) this.#listener(pool).add(ending);
  }

  get total(): Traffic {
    return this.#total;
  }

  cluster(namespace: string, name: string): Traffic {
    return this.#clusters.find(namespace, name)?.direct ?? NO_TRAFFIC;
  }

  listener(key: string): Traffic {
    return this.#listeners.get(key) ?? NO_TRAFFIC;
  }

  clusters(): Iterable<ClusterTraffic> {
    return this.#clusters.values();
  }

  /** Drops the counts of all other clusters and listeners. */
  keep(clusters: ReadonlySet<string>, listeners: ReadonlySet<string>): void {
    this.#clusters.keep(({ namespace, cluster }) => clusters.has(`${namespace}/${cluster}`));
    for (const key of this.#listeners.keys()) if (!listeners.has(key)) this.#listeners.delete(key);
  }

  #listener(key: string): Tally {
    let tally = this.#listeners.get(key);
    if (tally === undefined) {
      tally = new Tally();
      this.#listeners.set(key, tally);
    }
    return tally;
  }
}
