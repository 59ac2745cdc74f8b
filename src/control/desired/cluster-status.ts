// The status of one cluster for the status page, metrics and log. It is part of the desired state, so the status page computes nothing.

import type { CertificateStatus } from './cluster-certificate.ts';

export type ClusterState = 'serving' | 'unhealthy' | 'no-netns' | 'pending' | 'not-proxied' | 'invalid';

export interface BackendStatus {
  readonly key: string;
  readonly address: string;
  readonly port: number;
  /** Name of the netns, such as `qdhcp-<network id>`. */
  readonly netns: string;
  /** The control-plane Machine that has the address; absent: it is the API server's own address, mostly that of a load balancer. */
  readonly machine?: string;
  readonly up: boolean;
}

export interface ClusterStatus {
  readonly name: string;
  readonly namespace: string;
  readonly origin: string;
  readonly state: ClusterState;
  /** One sentence for an operator: why the cluster is in this state. If it is not `serving`, also what would change that. */
  readonly reason: string;
  /** Empty if the cluster does not hold its name. */
  readonly serverNames: readonly string[];
  /** The names that lead to a cluster without Service, because another cluster holds its name; absent if there are none. */
  readonly ownServerNames?: readonly string[];
  /** Where the object locates the API server, or the last valid location; absent if none was ever known. */
  readonly apiServer?: {
    /** Neutron network ids, best first. */
    readonly networkIds: readonly string[];
    readonly address: string;
    readonly port: number;
  };
  /** A network that only spec names. It is not used, because tenants write spec. Absent if there is none. */
  readonly unusedSpecNetworkId?: string;
  /** Of its API server, as this instance read it; absent while it is unknown. */
  readonly certificate?: CertificateStatus;
  /** All probed backends, best first. */
  readonly backends: readonly BackendStatus[];
}
