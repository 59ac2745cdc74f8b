// The desired publication of one cluster or one of its additional listeners. It does not depend on the objects in the API. The plan
// compares the two and decides what to write.

import type { TargetHealth } from '../../health/target-health.ts';
import type { CertificateRecord } from '../objects/certificate-record.ts';
import { listenerPublicationKey } from '../objects/listener-labels.ts';
import type { KubeconfigTarget } from '../objects/observed-objects.ts';
import { qualifiedName } from '../objects/service-names.ts';
import type { ClusterObject } from '../sources/cluster-source.ts';

export interface Publication {
  readonly cluster: string;
  /** Namespace of the OpenStackCluster and of its kubeconfig. */
  readonly namespace: string;
  readonly object: ClusterObject | null;
  /**
   * `live`: a backend passes its checks from this host. `down`: no backend does. `undecided`: too few probes have finished, so
   * published objects stay as they are. This keeps the slices from before a restart. `leaving`: the cluster is no longer proxied, or
   * the listener is deleted. Its published objects are withdrawn step by step.
   */
  readonly want: 'live' | 'down' | 'undecided' | 'leaving';
  /** A netns on this host belongs to the cluster's network: this instance creates the Service, even while no check passes. */
  readonly hasNetns: boolean;
  /** For a cluster: `<namespace>/<name>` of the object that its Service records as holder; absent: the record stays unchanged. */
  readonly holder?: string;
  /** Of the API server, as this instance read it; absent for a listener. */
  readonly certificate?: PublishedCertificate;
  /** Absent if the publication is the cluster's API server. */
  readonly listener?: ListenerPublication;
}

/** `unread`: a handshake is still expected. `unknown`: none succeeded, or no backend is up. */
export type PublishedCertificate = CertificateRecord | 'unread' | 'unknown';

export interface ListenerPublication {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly key: string;
  /** Name of its Service. */
  readonly service: string;
  /** Port of the Service. */
  readonly port: number;
  /** Port on this instance; `shared`: the port of the clusters; null: currently unknown. */
  readonly listenPort: number | 'shared' | null;
  /** Stored on the Service: see `selectorAnnotation`. */
  readonly selector: string;
}

/**
 * The wanted state of a publication that is not leaving, from the health of its backends. A backend is undecided if it is neither up
 * nor known to be down, because too few probes have finished since the start.
 */
export function wantOf(
  backends: Iterable<TargetHealth | null | undefined>,
): Exclude<Publication['want'], 'leaving'> {
  let isUndecided = false;
  for (const health of backends) {
    if (health?.up === true) return 'live';
    isUndecided ||= health?.lastProbe?.ok !== false;
  }
  return isUndecided ? 'undecided' : 'down';
}

/** A cluster's Service has the name of the cluster. */
export const serviceNameOf = ({ cluster, listener }: Publication): string => listener?.service ?? cluster;

/** Unique for each cluster and each listener. */
export const publicationKey = ({ cluster, listener }: Publication): string =>
  listener === undefined ? cluster : listenerPublicationKey(cluster, listener.service);

/** What a rewritten kubeconfig contains. Its server is the Service, which is in `namespace`. */
export function proxiedTarget({ cluster, namespace: own }: Publication, namespace: string): KubeconfigTarget {
  // The driver of Magnum derives the names in the certificate from the namespace of the cluster.
  const tlsServerName = own === namespace ? null : qualifiedName(cluster, own);
  return { server: `https://${cluster}.${namespace}:6443`, tlsServerName };
}

export const kubeconfigName = (cluster: string): string => `${cluster}-kubeconfig`;
