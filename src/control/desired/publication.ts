// What should be published of one cluster, or of one of its additional listeners: part of the desired state, decided from the clusters
// alone. How the objects in the API have to change for it is the plan's business.

import { listenerPublicationKey } from '../objects/listener-marks.ts';
import type { ClusterObject } from '../sources/cluster-source.ts';

export interface Publication {
  readonly cluster: string;
  /** Of the OpenStackCluster, where its kubeconfig is too. */
  readonly namespace: string;
  readonly object: ClusterObject | null;
  /**
   * `live`: a backend passes its checks from here. `down`: none does. `unjudged`: too early to tell, so that what is published
   * stays as it is (a restart finds its own slices). `leaving`: it exists but is no longer proxied, and everything is to be
   * taken back in order.
   */
  readonly want: 'live' | 'down' | 'unjudged' | 'leaving';
  /** A netns of this host belongs to it: its Service is worth having even while no check passes. */
  readonly near: boolean;
  /** Of a cluster: `<namespace>/<name>` of the object that its Service names as holder; absent: what the Service says stays. */
  readonly holder?: string;
  /** Absent for the cluster itself: its API server. */
  readonly listener?: ListenerPublication;
}

export interface ListenerPublication {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly key: string;
  /** Name of its Service. */
  readonly service: string;
  /** Of the Service. */
  readonly port: number;
  /** On this instance; `shared`: that of the clusters; null: none that we know of now. */
  readonly listenPort: number | 'shared' | null;
  /** Kept on the Service: see `selectorMark`. */
  readonly selector: string;
}

/** What there is of it in Kubernetes, as the plan found it. */
export interface PublicationStatus {
  readonly service: 'ours' | 'upstream' | 'foreign' | 'absent';
  /** Of this instance. */
  readonly slice: 'ready' | 'terminating' | 'absent';
  /** Instances, this one included, that are ready for clients. */
  readonly readyInstances: number;
  readonly kubeconfig: 'proxied' | 'direct' | 'unread' | 'absent' | 'left-alone';
  /** Why something is not as it should be, for an operator; null when all is well. */
  readonly problem: string | null;
}

/** A cluster's Service carries its name. */
export const serviceNameOf = ({ cluster, listener }: Publication): string => listener?.service ?? cluster;

/** One for each cluster, and for each listener; no two are alike. */
export const publicationKey = ({ cluster, listener }: Publication): string =>
  listener === undefined ? cluster : listenerPublicationKey(cluster, listener.service);

/** What a rewritten kubeconfig says; the certificate of every proxied API server carries this name. */
export const proxiedServer = (cluster: string, namespace: string): string =>
  `https://${cluster}.${namespace}:6443`;

export const kubeconfigName = (cluster: string): string => `${cluster}-kubeconfig`;
