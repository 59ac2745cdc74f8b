// The peers of this instance: which are alive, whose objects may be deleted, and whether magnum-cluster-api-proxy still runs on
// any node. Before the objects of an instance are deleted, its Lease is read live. `LivenessTracker` and `TimestampTracker`
// decide, from changes alone.
import { resourcePath } from '../../kube/api-path.ts';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { objectIn } from '../../kube/object-answer.ts';
import { leaseName } from '../objects/instance-name.ts';
import { CLUSTER_NAMESPACE_ANNOTATION, TIMESTAMP_ANNOTATION } from '../objects/object-labels.ts';
import { EVERYWHERE, type LeaseObject, type LivenessMode } from '../objects/published-objects.ts';
import type { SliceIndex } from '../objects/slice-index.ts';
import type { DeadLease, Peers } from './instance-state.ts';
import { LivenessTracker, type SeenLease, seenLease } from './lease-liveness.ts';
import type { OwnRenewals } from './lease-verdict.ts';
import { type SeenTimestamp, TimestampTracker } from './timestamp-liveness.ts';
import { earliest, rankAmong } from './turn-order.ts';

export interface PeerWatchOptions {
  readonly client: Requester;
  readonly namespace: string;
  readonly instance: string;
  /** The namespace that is searched for clusters; null or absent: all namespaces. */
  readonly clusterNamespace?: string | null;
  readonly liveness: 'auto' | LivenessMode;
  readonly now: () => number;
  readonly onChange: () => void;
}

export interface PeerView {
  readonly peers: Peers;
  /** Names of Leases that the caller passes to `readLive`. */
  readonly unconfirmed: readonly string[];
  /** Why objects of a dead instance stay for now; null: nothing waits. */
  readonly waiting: string | null;
  readonly lookAgainAtMs: number | null;
}

const READ_MS = 8000;

export class PeerWatch {
  readonly #options: PeerWatchOptions;
  readonly #liveness: LivenessTracker;
  readonly #timestamps: TimestampTracker;
  readonly #reading = new Set<string>();
  /** Instances that slices named in the last `look`. */
  #instances: ReadonlySet<string> = new Set();
  #holders = '';
  #stopped = false;

  constructor(options: PeerWatchOptions) {
    this.#options = options;
    this.#liveness = new LivenessTracker(options);
    this.#timestamps = new TimestampTracker(options);
  }

  /**
   * Records renewals. Returns whether a new `look` is necessary: a holder changed, or a Lease was added or removed. A plain renewal
   * needs none; each instance renews every ten seconds.
   */
  observe(leases: ReadonlyMap<string, LeaseObject>): boolean {
    const seen = seenLeases(leases);
    this.#liveness.observe(seen, this.#instances);
    return holdersOf(seen) !== this.#holders;
  }

  /** Starts no request. */
  look(
    leases: ReadonlyMap<string, LeaseObject>,
    slices: SliceIndex,
    own: OwnRenewals,
    /** The slices are watched. Without a watch, unchanged slices prove nothing. */
    slicesWatched: boolean,
  ): PeerView {
    const { instance } = this.#options;
    const seen = seenLeases(leases);
    this.#holders = holdersOf(seen);
    const instances = new Set(slices.instances);
    const upstream: SeenTimestamp[] = [...slices.upstream.values()].flat().map(({ name, object }) => ({
      name,
      timestamp: object.metadata?.annotations?.[TIMESTAMP_ANNOTATION] ?? null,
    }));
    instances.delete(instance);
    this.#instances = instances;
    this.#liveness.observe(seen, instances);
    this.#timestamps.observe(upstream, slicesWatched);

    const verdict = this.#liveness.verdict(own);
    const dead = new Set(this.#liveness.dead(own));
    const live = new Set([instance]);
    for (const lease of seen) if (!dead.has(lease.instance)) live.add(lease.instance);
    // An instance whose Lease is missing has some time to create it again.
    for (const other of instances) if (!dead.has(other)) live.add(other);
    const expiredUpstream = new Set(
      upstream.filter(({ name }) => this.#timestamps.timestampExpired(name)).map(({ name }) => name),
    );
    const upstreamLives = expiredUpstream.size < upstream.length;
    const sameScope = new Set([...live].filter((other) => this.#isOfOurScope(leases, other)));
    return {
      peers: {
        live,
        collect: new Set(verdict.collect),
        deadLeases: verdict.collect.flatMap((name) => deadLease(leases, name)),
        sameScope,
        rank: rankAmong(instance, sameScope),
        anyRenews: this.#liveness.anyRenews(),
        mode: this.#mode(upstreamLives),
        expiredUpstream,
      },
      unconfirmed: verdict.confirm,
      waiting: verdict.waiting?.reason ?? null,
      lookAgainAtMs: earliest(
        verdict.waiting?.untilMs ?? null,
        this.#liveness.nextExpiryMs(own),
        this.#timestamps.nextExpiryMs(),
      ),
    };
  }

  /** Beside live instances of magnum-cluster-api-proxy, slices need a fresh timestamp. */
  #mode(upstreamLives: boolean): LivenessMode {
    const { liveness } = this.#options;
    if (liveness !== 'auto') return liveness;
    return upstreamLives ? 'timestamp' : 'lease';
  }

  /**
   * An instance that searches another namespace does no work for our clusters. A Lease without the annotation counts as in our scope.
   */
  #isOfOurScope(leases: ReadonlyMap<string, LeaseObject>, instance: string): boolean {
    if (instance === this.#options.instance) return true; // its Lease may still be a predecessor's
    const where = leases.get(leaseName(instance))?.metadata?.annotations?.[CLUSTER_NAMESPACE_ANNOTATION];
    return where === undefined || where === (this.#options.clusterNamespace ?? EVERYWHERE);
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Reads the Lease of an instance that seems dead. A failed read is retried after the next `look`. */
  async readLive(name: string): Promise<void> {
    if (this.#reading.has(name) || this.#stopped) return;
    this.#reading.add(name);
    const { client, namespace, onChange } = this.#options;
    const path = resourcePath({
      group: 'coordination.k8s.io',
      version: 'v1',
      resource: 'leases',
      namespace,
      name,
    });
    try {
      const lease = await client.request<LeaseObject>({ method: 'GET', path, timeoutMs: READ_MS });
      this.#liveness.confirmed(name, seenLease(objectIn(lease, 'get', path)));
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.code === 'not-found') this.#liveness.confirmed(name, null);
    } finally {
      this.#reading.delete(name);
    }
    if (!this.#stopped) onChange();
  }
}

function seenLeases(leases: ReadonlyMap<string, LeaseObject>): readonly SeenLease[] {
  const seen: SeenLease[] = [];
  for (const lease of leases.values()) {
    const known = seenLease(lease);
    if (known !== null) seen.push(known);
  }
  return seen;
}

const holdersOf = (leases: readonly SeenLease[]): string =>
  JSON.stringify(leases.map(({ name, holder }) => [name, holder]));

function deadLease(leases: ReadonlyMap<string, LeaseObject>, instance: string): DeadLease[] {
  const name = leaseName(instance);
  const { uid, resourceVersion } = leases.get(name)?.metadata ?? {};
  return uid === undefined || resourceVersion === undefined ? [] : [{ instance, name, uid, resourceVersion }];
}
