// This instance and its peers in the view of one turn. Plain data.
import type { LivenessMode } from '../objects/published-objects.ts';
import type { Participation } from './node-participation.ts';

/** The current state of this instance. */
export interface Self {
  readonly instance: string;
  /** Name of the Kubernetes Node; null if this host is not a Node. */
  readonly nodeName: string | null;
  /** Where clients of the Service reach this instance. `reason`: no address is known, and nothing is published. */
  readonly endpoint:
    | { readonly address: string; readonly family: 'IPv4' | 'IPv6'; readonly port: number }
    | { readonly reason: string };
  /**
   * The port is open and the first health checks are done. Nothing is written before that, so the objects of the previous
   * process stay in place during a restart.
   */
  readonly started: boolean;
  /** This process holds the node's Lease. Only the holder writes: a successor process may have taken the Lease over. */
  readonly holder: boolean;
  /**
   * The peers consider this instance dead and delete its slices. So this instance creates none, because the peers would delete them again.
   */
  readonly lapsed: boolean;
  /** Whether this instance's Node publishes. Only publishing depends on it; withdrawal and cleanup do not. */
  readonly participation: Participation;
  /** This instance is stopping: all its slices are being withdrawn. */
  readonly draining: boolean;
}

export interface DeadLease {
  readonly instance: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface Peers {
  /** Live instances by their Leases, including this one. */
  readonly live: ReadonlySet<string>;
  /**
   * Dead instances whose slices this instance may delete now. It has read their Leases live, and lower ranks had time to act.
   */
  readonly collect: ReadonlySet<string>;
  /** The Leases of these instances, deleted after their slices. */
  readonly deadLeases: readonly DeadLease[];
  /** Live instances that search the same namespace for clusters, including this one. */
  readonly sameScope: ReadonlySet<string>;
  /** Position of this instance in `sameScope`, from 0. The first instance does shared work; the others do it some seconds later. */
  readonly rank: number;
  /** At least one other instance renews its Lease, whether or not this one can. */
  readonly anyRenews: boolean;
  readonly mode: LivenessMode;
  /** Names of slices of magnum-cluster-api-proxy whose timestamp no longer changes. */
  readonly expiredUpstream: ReadonlySet<string>;
}
