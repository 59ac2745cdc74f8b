// What a source of clusters hands over: plain data about OpenStackClusters, wherever they come from (files now, the
// Kubernetes API in its own source). A source knows nothing of netns, health or routes.
import type { ReadTags } from '../objects/resource-tags.ts';

/** The object behind a reading, as other objects refer to it. */
export interface ClusterObject {
  readonly apiVersion: string;
  readonly name: string;
  /** null for what was read from a file: there is no object to refer to. */
  readonly uid: string | null;
  /** Where clients reach it without us (`spec.controlPlaneEndpoint`): what a kubeconfig is given back. */
  readonly directServer: string | null;
  /** Being deleted; it stays proxied until it is gone, since its controllers need the way in. */
  readonly deleting: boolean;
  /** Its users' tags for everything of this cluster; absent: none. */
  readonly tags?: ReadTags;
}

/** The facts of one OpenStackCluster that the proxy needs, whatever API version they were written in. */
export interface ClusterFacts {
  /** `<namespace>/<metadata.name>`: the object, not the cluster's name. */
  readonly key: string;
  /** From the label `cluster.x-k8s.io/cluster-name`. */
  readonly name: string;
  readonly namespace: string;
  /** Where it was read: a file's name and document number, or the API. For messages. */
  readonly origin: string;
  /** `metadata.creationTimestamp`: of two objects that claim one cluster name, the older keeps it. */
  readonly createdAtMs?: number | null;
  readonly object?: ClusterObject | null;
  /** Neutron network ids whose netns may reach the API server, best first (the load balancer's own network before the cluster's). */
  readonly networkIds: readonly string[];
  /** The cluster's own (`status.network.id`), where its machines are; absent while it is not known. */
  readonly clusterNetworkId?: string;
  /** Named in spec and in no field of status, and so not used; absent: there is none. */
  readonly unusedSpecNetworkId?: string;
  /** Address of the API server inside that network: canonical text, IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

/** One object as read; `name` may be empty when the object does not even carry one. */
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
  /** As in the facts: machines can be reached although the API server cannot. */
  readonly clusterNetworkId?: string;
  /** As in the facts. */
  readonly unusedSpecNetworkId?: string;
  readonly reason: string;
}

/** How objects are read. */
export interface ReadingSettings {
  /** Which clusters are proxied: those without a floating IP, or all of them. */
  readonly proxyAlways: boolean;
  /** Whether a network id in spec counts as one in status does. Absent: it does not, since tenants write spec. */
  readonly trustSpecNetwork?: boolean;
}

/** Something that could not be used, by name with the reason: a file, a document in it, a flag that names nothing. */
export interface Problem {
  readonly origin: string;
  readonly reason: string;
}

export interface SourceSnapshot {
  /**
   * False until everything was read once, and while anything could not be read: then nothing is concluded from an absence.
   * What a source read before and cannot read now stays in `clusters`; an object leaves only when it is known to be gone.
   */
  readonly complete: boolean;
  /** Sorted by key, then origin. */
  readonly clusters: readonly ClusterReading[];
  /** What could not be read at all (a file, a document in it), by name with the reason. */
  readonly problems: readonly Problem[];
}

export interface ClusterSource {
  /** Resolves once the first snapshot is there. `onChange` only says "look again". */
  start(onChange: () => void): Promise<void>;
  /** The same reference while nothing changed. */
  snapshot(): SourceSnapshot;
  stop(): Promise<void>;
}
