// This instance and the other ones, as one turn sees them. Plain data.
import type { LivenessMode } from '../objects/cluster-shape.ts';
import type { Participation } from './node-participation.ts';

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
