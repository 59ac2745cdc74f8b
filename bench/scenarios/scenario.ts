// Defines a scenario: the site that it needs, and one measurement of one peer. The runner owns rounds, order, repetition and ratios.
import type { Latency, Load, Timing } from '../harness/load.ts';
import { cpuTimeNs } from '../harness/processes.ts';
import type { Site, SiteNeeds } from '../harness/site.ts';
import type { PeerProgram, RunningPeer } from '../peers/peer.ts';

export interface BenchMetric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** The metric describes the harness during this peer's measurement. A ratio to HAProxy's value would be meaningless. */
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
  /** The results of `prepare`. */
  readonly facts: Map<string, number>;
}

export interface Participant {
  readonly name: string;
  readonly peer: PeerProgram;
  readonly site: Site;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly needs: SiteNeeds;
  readonly metrics: readonly BenchMetric[];
  /** The duration of one measurement, used to estimate the remaining time. */
  seconds(timing: Timing): number;
  /** Starts the peers again for every measurement, for scenarios about memory or start-up. */
  readonly fresh?: boolean;
  /** The scenario measures no time. A disturbance does not change its result, so no measurement is repeated. */
  readonly timeless?: boolean;
  /** Changes the requested number of rounds, for a scenario with expensive rounds. */
  rounds?(asked: number): number;
  /** By default, every peer takes part once, on the site. */
  participants?(peers: readonly PeerProgram[], site: Site): readonly Participant[];
  prepare?(running: readonly RunningPeer[], context: Context): Promise<void>;
  measure(peer: RunningPeer, context: Context): Promise<Measurement>;
}

export const ONE_ROUTE: SiteNeeds = { clusters: 1, netns: 1, threads: 1, mtu: null };

/** Runs the work and also returns the CPU time that the peer used, in nanoseconds. */
export async function withCpu<T>(peer: RunningPeer, work: () => Promise<T>): Promise<[T, number]> {
  const pids = peer.pids();
  const before = cpuTimeNs(pids);
  const result = await work();
  return [result, cpuTimeNs(pids) - before];
}
