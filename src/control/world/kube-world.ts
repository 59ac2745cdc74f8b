// What one turn knows of the Kubernetes objects around the clusters, and of ourselves among the other instances. Plain data:
// whoever observes (reflectors, the Lease) fills it in, and the plan is a pure function of it.

import type { Participation } from '../instance/node-participation.ts';
import type { EndpointSliceObject, LivenessMode, ServiceObject } from '../objects/cluster-shape.ts';

/** This instance, as it is right now. */
export interface Self {
  readonly instance: string;
  /** Of the Kubernetes Node; null where we are on none. */
  readonly nodeName: string | null;
  /** Where clients of the Service reach us; null while no address is known: then nothing is published, with this reason. */
  readonly endpoint:
    | { readonly address: string; readonly family: 'IPv4' | 'IPv6'; readonly port: number }
    | { readonly reason: string };
  /** We listen, and the first checks have been made: before that nothing is written, so that a restart leaves no gap. */
  readonly started: boolean;
  /** Only the holder of this node's Lease writes: a successor may have taken it over. */
  readonly holder: boolean;
  /** The others take us for dead, and take away what we publish: nothing is opened, so that nobody takes it away again. */
  readonly lapsed: boolean;
  /** Whether the Node of this instance is one that publishes. Only publishing asks; taking back and tidying up never do. */
  readonly participation: Participation;
  /** We are stopping: every slice of ours is on its way out. */
  readonly draining: boolean;
}

/** The metadata of a kubeconfig Secret: its content is read only when it has to be judged, and never kept. */
export interface KubeconfigSecret {
  readonly resourceVersion: string;
  /** The server that we last wrote into it, by our own annotation. */
  readonly markedServer: string | null;
}

/** What we found in a kubeconfig at one resourceVersion. Servers are no secrets; nothing else of it is kept. */
export interface KubeconfigFinding {
  readonly resourceVersion: string;
  readonly server: string | null;
  /** Why it is left alone; null when it can be written. */
  readonly leftAlone: string | null;
}

export interface DeadLease {
  readonly instance: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface Peers {
  /** Instances whose Lease is renewed, this one among them. */
  readonly live: ReadonlySet<string>;
  /** Those whose slices may be collected now: their Leases were read live, and it is our turn. */
  readonly collect: ReadonlySet<string>;
  /** Their Leases, to go after their slices. */
  readonly deadLeases: readonly DeadLease[];
  /** Those of the live that look for clusters where we do, this one among them. */
  readonly fellows: ReadonlySet<string>;
  /** Our place among those, from 0: what all could do, the first does, and the others some seconds later. */
  readonly rank: number;
  /** Some other one renews its Lease, whether or not we can. */
  readonly anyRenews: boolean;
  readonly mode: LivenessMode;
  /** Names of slices of magnum-cluster-api-proxy whose time stamp no longer changes. */
  readonly expiredUpstream: ReadonlySet<string>;
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
