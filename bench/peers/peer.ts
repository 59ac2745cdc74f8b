// What a peer is: somebody who can be started on a site and then takes connections at an address.
import type { Site } from '../harness/site.ts';

export interface RunningPeer {
  readonly name: string;
  readonly target: string;
  /** All processes that do its work, the load generator and the backend not among them. */
  pids(): readonly number[];
  stop(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** False for those who dial a backend on loopback since they cannot enter a netns; their results are marked. */
  readonly entersNetns: boolean;
  version(): string;
  start(site: Site): Promise<RunningPeer>;
}

/** It is not there or does not start: reported with its reason, never dropped silently. */
export class PeerError extends Error {}
