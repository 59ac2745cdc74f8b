// Counts what connections carried, by cluster and by additional listener, when they have ended. In plain numbers: of thousands a
// second, so nothing here is spelled out; and nothing is kept of what does not exist any more.
import type { ConnectionEnding } from '../../proxy/connection-record.ts';
import { PairMap } from './pair-map.ts';

/** What is counted of an ended connection. */
export type CountedTraffic = Pick<
  ConnectionEnding,
  'cluster' | 'namespace' | 'pool' | 'bytesFromClient' | 'bytesFromBackend'
> & { readonly backend: unknown };

/** Counters since the start: only differences mean something. Bytes are those of connections that have ended. */
export interface Traffic {
  /** Connections that have ended, served or not: with those that are open, all that ever came. */
  readonly ended: number;
  /** Of these, those that reached no backend. */
  readonly unserved: number;
  readonly bytesFromClient: number;
  readonly bytesFromBackend: number;
}

/** Whoever asks for one that nobody came for gets zeros. */
export interface TrafficSource {
  /** Of all connections, also of those for no cluster at all. */
  readonly total: Traffic;
  /** To its API server; what came by its additional listeners is theirs. */
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

  /** All others are forgotten. */
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
