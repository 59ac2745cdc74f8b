// What status, metrics and log say about one cluster. Part of the desired state, so showing it costs nothing.
import type { PublicationStatus } from './publication.ts';

export type ClusterState = 'serving' | 'unhealthy' | 'no-netns' | 'pending' | 'not-proxied' | 'invalid';

export interface BackendStatus {
  readonly key: string;
  readonly address: string;
  readonly port: number;
  /** Name of the netns, such as `qdhcp-<network id>`. */
  readonly netns: string;
  readonly up: boolean;
}

export interface ClusterStatus {
  readonly name: string;
  readonly namespace: string;
  readonly origin: string;
  readonly state: ClusterState;
  /** One sentence for an operator: why the cluster is in this state, and where it is not `serving`, what would change it. */
  readonly reason: string;
  readonly serverNames: readonly string[];
  /** Where its API server is, as the object says, or last said; absent where that was never known. */
  readonly apiServer?: {
    /** Of Neutron, best first. */
    readonly networkIds: readonly string[];
    readonly address: string;
    readonly port: number;
  };
  /** A network that only spec names: it was not used, since tenants write spec. Absent where there is none. */
  readonly unusedSpecNetworkId?: string;
  /** Every backend that is probed, best first. */
  readonly backends: readonly BackendStatus[];
  /** How it is published in Kubernetes; absent where nothing is. */
  readonly publication?: PublicationStatus;
}
