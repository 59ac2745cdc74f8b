// What one turn knows of the Kubernetes objects around the clusters, and of ourselves among the other instances. Plain data:
// whoever observes (reflectors, the Lease) fills it in, and the plan is a pure function of it.

import type { Peers, Self } from '../instance/instance-state.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/cluster-shape.ts';
import type { KubeconfigSecret } from '../objects/observed-objects.ts';

/** What we found in a kubeconfig at one resourceVersion. Servers are no secrets; nothing else of it is kept. */
export interface KubeconfigFinding {
  readonly resourceVersion: string;
  readonly server: string | null;
  /** Why it is left alone; null when it can be written. */
  readonly leftAlone: string | null;
}

export interface KubeWorld {
  /** Monotonic, and by the wall clock: the second only for the time stamps of upstream's kind. */
  readonly nowMs: number;
  readonly wallMs: number;
  /** False until all lists were seen, and while any watch is broken: then nobody else's objects are touched. */
  readonly complete: boolean;
  readonly self: Self;
  readonly peers: Peers;
  /** Services were listed once: before that one that is not there may just not have been listed. */
  readonly servicesSeen: boolean;
  /** By name, in the proxy's namespace: ours and everybody's, since a name can be taken. */
  readonly services: ReadonlyMap<string, ServiceObject>;
  readonly slices: ReadonlyMap<string, EndpointSliceObject>;
  /** By `<namespace>/<name>`; null before they were seen. */
  readonly kubeconfigs: ReadonlyMap<string, KubeconfigSecret> | null;
  /** They are watched: one that is not there is not there, and one without our mark does not lead here. */
  readonly kubeconfigsHeard: boolean;
  readonly findings: ReadonlyMap<string, KubeconfigFinding>;
}
