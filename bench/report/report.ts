// The complete result of a run: every round, and all data for the tables and plots.
import type { BenchMachine } from '../harness/machine.ts';
import type { ScenarioResult } from '../harness/runner.ts';
import type { Correctness } from '../scenarios/correctness.ts';
import type { GoalVerdict } from './verdicts.ts';

export interface PeerFacts {
  readonly name: string;
  readonly version: string;
  readonly entersNetns: boolean;
  /** Why the peer is missing from some or all scenarios. */
  readonly problem: string | null;
}

export interface Report {
  readonly machine: BenchMachine;
  readonly command: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly peers: readonly PeerFacts[];
  readonly correctness: readonly Correctness[];
  readonly results: readonly ScenarioResult[];
  readonly goals: readonly GoalVerdict[];
}
