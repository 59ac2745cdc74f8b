// The interface of a cluster source (files or the Kubernetes API) and the plain data that it returns about OpenStackClusters. A source
// does not depend on netns, health or routes.
import type { Problem } from '../objects/problem.ts';
import type { ReadyCheck } from '../objects/ready-check.ts';
import type { ReadTags } from '../objects/resource-tags.ts';

/** The object behind a reading, in the form that references need. */
export interface ClusterObject {
  readonly apiVersion: string;
  readonly name: string;
  /** null for an object from a file, which cannot be referenced. */
  readonly uid: string | null;
  /** The URL at which clients reach the cluster without Isthmus (`spec.controlPlaneEndpoint`). A restored kubeconfig contains it. */
  readonly directServer: string | null;
  /** The object has a deletionTimestamp. It stays proxied until it is gone, because its controllers need the API server. */
  readonly deleting: boolean;
  /** Tags that users set for all objects of this cluster; absent if there are none. */
  readonly tags?: ReadTags;
}

/** The facts of one OpenStackCluster that the proxy needs, independent of the API version. */
export interface ClusterFacts {
  /** `<namespace>/<metadata.name>` of the object, not the name of the cluster. */
  readonly key: string;
  /** From the label `cluster.x-k8s.io/cluster-name`. */
  readonly name: string;
  readonly namespace: string;
  /** Where the object comes from: file name and document number, or the API. Used in messages. */
  readonly origin: string;
  /** `metadata.creationTimestamp`. If two objects claim one cluster name, the older one keeps it. */
  readonly createdAtMs?: number | null;
  readonly object?: ClusterObject | null;
  /** Neutron networks from which the API server may be reachable, best first: the load balancer's own network, then the cluster's. */
  readonly networkIds: readonly string[];
  /** The cluster's own network (`status.network.id`), which contains its machines. Absent if unknown. */
  readonly clusterNetworkId?: string;
  /** A network id that appears in spec but not in status, and is therefore not used. Absent if there is none. */
  readonly unusedSpecNetworkId?: string;
  /** Address of the API server inside that network, as canonical text; IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

/** One object after reading. `name` is empty if the object has no usable cluster name. */
export type ClusterReading =
  | { readonly kind: 'proxied'; readonly facts: ClusterFacts }
  | (Unproxied & { readonly kind: 'not-proxied' })
  | (Unproxied & { readonly kind: 'pending' })
  | (Unproxied & { readonly kind: 'invalid' });

export interface Unproxied {
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  readonly origin: string;
  readonly createdAtMs?: number | null;
  readonly object?: ClusterObject | null;
  /** As in `ClusterFacts`. Machines can be reachable when the API server is not. */
  readonly clusterNetworkId?: string;
  /** As in `ClusterFacts`. */
  readonly unusedSpecNetworkId?: string;
  readonly reason: string;
}

export interface ReadingSettings {
  /** True: proxy all clusters. False: proxy only clusters without a floating IP. */
  readonly proxyAlways: boolean;
  /** Treat a network id in spec like one in status. False by default, because tenants write spec. */
  readonly trustSpecNetwork?: boolean;
}

export interface SourceSnapshot {
  /**
   * False until everything was read once, and while anything is unreadable. While false, a missing object does not count as deleted.
   * An object that becomes unreadable stays in `clusters`; it leaves only when its deletion is certain.
   */
  readonly complete: boolean;
  /** Sorted by key, then origin. */
  readonly clusters: readonly ClusterReading[];
  /** Everything unreadable (a file, a document in it), with the reason. */
  readonly problems: readonly Problem[];
}

export interface ClusterSource {
  /** Resolves when the first snapshot exists. `onChange` carries no data: it says that `snapshot()` may have changed. */
  start(onChange: () => void): Promise<void>;
  /** Returns the same reference while nothing changes. */
  snapshot(): SourceSnapshot;
  /** Whether everything was read once. */
  readyChecks(): readonly ReadyCheck[];
  stop(): Promise<void>;
}
