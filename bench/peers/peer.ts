// Defines a peer: a proxy that starts on a site and accepts connections at an address.
import type { Site } from '../harness/site.ts';

export interface RunningPeer {
  readonly name: string;
  readonly target: string;
  /** All processes of the proxy, without the load generator and the backend. */
  pids(): readonly number[];
  stop(): Promise<void>;
}

export interface PeerProgram {
  readonly name: string;
  /** False for a peer that cannot enter a netns and dials a backend on loopback. Its results are marked. */
  readonly entersNetns: boolean;
  version(): string;
  start(site: Site): Promise<RunningPeer>;
}

/** The peer is missing or does not start. The report shows the reason; a peer is never dropped silently. */
export class PeerError extends Error {}
