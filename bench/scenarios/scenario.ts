// What a scenario is: the site it wants, and one measurement of one peer. Rounds, order, repetition and ratios are the runner's.
import type { Latency, Load, Timing } from '../harness/load.ts';
import { cpuTimeNs } from '../harness/processes.ts';
import type { Site, SiteWish } from '../harness/site.ts';
import type { Peer, RunningPeer } from '../peers/peer.ts';

export interface Metric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** It tells of the harness while this peer was measured: a ratio to HAProxy's would mean nothing. */
  readonly incomparable?: boolean;
}

export interface Measurement {
  readonly values: Readonly<Record<string, number>>;
  readonly curve?: Latency['curve'];
}

export interface Context {
  readonly load: Load;
  readonly site: Site;
  readonly timing: Timing;
  /** What `prepare` found out. */
  readonly facts: Map<string, number>;
}

export interface Participant {
  readonly name: string;
  readonly peer: Peer;
  readonly site: Site;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly wish: SiteWish;
  readonly metrics: readonly Metric[];
  /** How long one measurement takes, for the remaining time. */
  seconds(timing: Timing): number;
  /** Peers are started anew for every measurement: where memory or start-up is the subject. */
  readonly fresh?: boolean;
  /** It measures no time: a disturbed machine does not change it, and nothing is repeated. */
  readonly timeless?: boolean;
  /** Fewer (or other) rounds than asked for, where one costs much. */
  rounds?(asked: number): number;
  /** By default every peer once, on the site. */
  participants?(peers: readonly Peer[], site: Site): readonly Participant[];
  prepare?(running: readonly RunningPeer[], context: Context): Promise<void>;
  measure(peer: RunningPeer, context: Context): Promise<Measurement>;
}

export const ONE_ROUTE: SiteWish = { clusters: 1, netns: 1, threads: 1, mtu: null };

/** Runs the work and tells how much CPU time the peer used meanwhile, in nanoseconds. */
export async function withCpu<T>(peer: RunningPeer, work: () => Promise<T>): Promise<[T, number]> {
  const pids = peer.pids();
  const before = cpuTimeNs(pids);
  const result = await work();
  return [result, cpuTimeNs(pids) - before];
}
