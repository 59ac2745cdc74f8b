// Runs a scenario in rounds. Each round measures every peer once, in random order, and ratios are taken within the round. A disturbed
// measurement is repeated at once and counted. If every attempt is disturbed, the last one is kept and marked.
import type { RunningPeer } from '../peers/peer.ts';
import type { Context, Measurement, Participant, Scenario } from '../scenarios/scenario.ts';
import { type Disturbance, isDisturbed, watchMachine } from './disturbance.ts';
import type { Timing } from './load.ts';
import { pause } from './processes.ts';
import type { Progress } from './progress.ts';
import type { Site } from './site.ts';

export interface Round {
  readonly measurements: Readonly<Record<string, Measurement>>;
  /** The worst disturbance in this round's kept measurements. */
  readonly disturbance: Disturbance;
  /** The peers whose measurement was disturbed in every attempt. Their values are shown, but no goal is judged by them. */
  readonly disturbed: readonly string[];
}

/** The maximum number of attempts before a disturbed measurement is kept. */
const ATTEMPTS = 5;
/** A disturbance may end soon, so the runner waits before it retries. The wait doubles with each attempt. */
const PAUSE_MS = 250;

export interface ScenarioResult {
  readonly name: string;
  readonly rounds: readonly Round[];
  /** The number of measurements discarded because of a disturbance. */
  readonly repeated: number;
  readonly failures: Readonly<Record<string, string>>;
  readonly facts: Readonly<Record<string, number>>;
}

export interface RunnerOptions {
  readonly load: Context['load'];
  readonly timing: Timing;
  readonly rounds: number;
  /** How much longer than planned a scenario may take to get quiet measurements, as a share of its planned time. */
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
  // This budget ends the run even on a machine that is never quiet. The result then shows the disturbance.
  let patienceMs = 1000 * patience * rounds * participants.length * scenario.seconds(timing);
  /** Returns the first undisturbed measurement, or the last attempt. */
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
    // This scenario has no results, but the others can still run.
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
