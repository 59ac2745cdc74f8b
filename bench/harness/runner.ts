// Rounds: in each, every peer is measured once, in random order, and ratios are taken within the round. A measurement during
// which the machine was not ours is repeated at once, and counted; one that never got a quiet moment is kept and marked.
import type { RunningPeer } from '../peers/peer.ts';
import type { Context, Measurement, Participant, Scenario } from '../scenarios/scenario.ts';
import { type Disturbance, isDisturbed, watchMachine } from './disturbance.ts';
import type { Timing } from './load.ts';
import { pause } from './processes.ts';
import type { Progress } from './progress.ts';
import type { Site } from './site.ts';

export interface Round {
  readonly measurements: Readonly<Record<string, Measurement>>;
  /** The worst of what was seen in a measurement of this round that was kept. */
  readonly disturbance: Disturbance;
  /** Whose measurement never got a quiet moment: shown, but no goal is judged by it. */
  readonly disturbed: readonly string[];
}

/** So often is a disturbed measurement tried again before it is kept as it is. */
const ATTEMPTS = 5;
/** Whoever disturbs us may be done in a moment; the wait doubles from attempt to attempt. */
const PAUSE_MS = 250;

export interface ScenarioResult {
  readonly name: string;
  readonly rounds: readonly Round[];
  /** Measurements thrown away because the machine was disturbed. */
  readonly repeated: number;
  readonly failures: Readonly<Record<string, string>>;
  readonly facts: Readonly<Record<string, number>>;
}

export interface RunnerOptions {
  readonly load: Context['load'];
  readonly timing: Timing;
  readonly rounds: number;
  /** How much longer than planned a scenario may take for the sake of quiet measurements, as a share of its plan. */
  readonly patience: number;
  readonly progress: Progress;
}

function shuffled<T>(values: readonly T[]): T[] {
  const result = [...values];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}

export async function runScenario(
  scenario: Scenario,
  site: Site,
  participants: readonly Participant[],
  running: ReadonlyMap<string, RunningPeer>,
  { load, timing, rounds, patience, progress }: RunnerOptions,
): Promise<ScenarioResult> {
  const facts = new Map<string, number>();
  const failures: Record<string, string> = {};
  const contextOf = (participant: Participant): Context => ({ load, site: participant.site, timing, facts });

  const measure = async (participant: Participant): Promise<Measurement> => {
    if (scenario.fresh !== true)
      return scenario.measure(running.get(participant.name)!, contextOf(participant));
    const peer = await participant.peer.start(participant.site);
    try {
      return await scenario.measure(peer, contextOf(participant));
    } finally {
      await peer.stop();
    }
  };

  const idlePids = (measured: string): ReadonlySet<number> =>
    new Set([...running].flatMap(([name, peer]) => (name === measured ? [] : peer.pids())));
  let repeated = 0;
  // On a machine that is never quiet a run ends all the same, and says that it was disturbed.
  let patienceMs = 1000 * patience * rounds * participants.length * scenario.seconds(timing);
  /** The first undisturbed measurement, or the last one. */
  const measureQuietly = async (participant: Participant): Promise<[Measurement, Disturbance]> => {
    for (let attempt = 1; ; attempt += 1) {
      const started = Date.now();
      const since = watchMachine(idlePids(participant.name));
      const measurement = await measure(participant);
      const disturbance = since();
      const isGood = scenario.timeless === true || !isDisturbed(disturbance);
      if (isGood || attempt === ATTEMPTS || patienceMs <= 0) return [measurement, disturbance];
      repeated += 1;
      await pause(Math.min(patienceMs, PAUSE_MS * 2 ** attempt));
      patienceMs -= Date.now() - started;
    }
  };

  try {
    await scenario.prepare?.([...running.values()], { load, site, timing, facts });
  } catch (error) {
    // The other scenarios can still be measured; this one has no results.
    for (const { name } of participants) failures[name] = `not prepared: ${(error as Error).message}`;
  }
  const kept: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const measurements: Record<string, Measurement> = {};
    const worst = { steal: 0, foreign: 0 };
    const disturbed: string[] = [];
    for (const participant of shuffled(participants)) {
      if (failures[participant.name] !== undefined) continue;
      progress.at(scenario.name, `round ${round}/${rounds}`, participant.name);
      try {
        const [measurement, seen] = await measureQuietly(participant);
        measurements[participant.name] = measurement;
        if (scenario.timeless !== true && isDisturbed(seen)) disturbed.push(participant.name);
        worst.steal = Math.max(worst.steal, seen.steal);
        worst.foreign = Math.max(worst.foreign, seen.foreign);
      } catch (error) {
        failures[participant.name] = (error as Error).message;
      }
      progress.done(scenario.seconds(timing));
    }
    kept.push({ measurements, disturbance: worst, disturbed });
  }
  return { name: scenario.name, rounds: kept, repeated, failures, facts: Object.fromEntries(facts) };
}
