// The view of one turn: the Kubernetes objects around the clusters, this instance and its peers. Plain data: the reflectors
// and the Lease fill it in, and the plan is a pure function of it.

import type { Peers, Self } from '../instance/instance-state.ts';
import type { KubeconfigSecret } from '../objects/observed-objects.ts';
import type { EndpointSliceObject, ServiceObject } from '../objects/published-objects.ts';

/** What a kubeconfig contained at one resourceVersion. The server is not a secret; nothing else of the kubeconfig is kept. */
export interface KubeconfigFinding {
  readonly resourceVersion: string;
  readonly server: string | null;
  /** Why this instance does not write it; null if it may. */
  readonly leftAlone: string | null;
}

export interface KubeWorld {
  /** `nowMs` is monotonic. `wallMs` is the wall clock, for time stamps that are written to objects. */
  readonly nowMs: number;
  readonly wallMs: number;
  /** False until all lists were received, and while any watch is broken. Objects of other instances are not touched then. */
  readonly complete: boolean;
  readonly self: Self;
  readonly peers: Peers;
  /** The Services were listed once. Before that, the absence of a Service proves nothing. */
  readonly servicesSeen: boolean;
  /** By name: all Services in the proxy's namespace, including foreign ones, because a foreign Service can occupy a name. */
  readonly services: ReadonlyMap<string, ServiceObject>;
  readonly slices: ReadonlyMap<string, EndpointSliceObject>;
  /** By `<namespace>/<name>`; null before the first list. */
  readonly kubeconfigs: ReadonlyMap<string, KubeconfigSecret> | null;
  /** The kubeconfigs are watched. A missing one does not exist, and one without our mark does not point to this proxy. */
  readonly kubeconfigsHeard: boolean;
  readonly findings: ReadonlyMap<string, KubeconfigFinding>;
}
