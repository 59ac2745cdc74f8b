// The result of a run, complete: everything that the tables and plots are made from, and each single round.
import type { Machine } from '../harness/machine.ts';
import type { ScenarioResult } from '../harness/runner.ts';
import type { Correctness } from '../scenarios/correctness.ts';
import type { Verdict } from './verdicts.ts';

export interface PeerFacts {
  readonly name: string;
  readonly version: string;
  readonly entersNetns: boolean;
  /** Why it took no part, or not in everything. */
  readonly problem: string | null;
}

export interface Report {
  readonly machine: Machine;
  readonly command: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly peers: readonly PeerFacts[];
  readonly correctness: readonly Correctness[];
  readonly results: readonly ScenarioResult[];
  readonly goals: readonly Verdict[];
}
