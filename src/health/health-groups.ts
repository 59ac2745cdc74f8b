// Probes API servers, the further ways to them, and the machines behind listeners, each kind at its own rate. Thousands of machines may
// delay each other's probes. They must not delay the probe of an API server, because that would prolong its outage.
import { HealthMonitor, type HealthMonitorOptions } from './health-monitor.ts';
import type { HealthSettings } from './health-settings.ts';
import type { ProbeTarget } from './probe.ts';
import type { TargetHealth } from './target-health.ts';

/** Machines have their own number of concurrent probes, so machines that wait for a timeout do not delay API servers. */
const MACHINES_AT_ONCE = 128;
/** With the others, this many probes leave room for 9000 connections in 20 000 descriptors. */
const WAYS_AT_ONCE = 80;
/**
 * For all further ways together: 3000 spare ways need 50 probes a second. If no way answers, each probe holds its place for a second, so
 * the rate stays below the number of places.
 */
const WAYS_PER_SECOND = 64;

/** The number of concurrent probes for all kinds together. */
export const probesAtOnce = ({ maxConcurrent }: Pick<HealthSettings, 'maxConcurrent'>): number =>
  maxConcurrent + MACHINES_AT_ONCE + WAYS_AT_ONCE;

export class HealthGroups {
  readonly #servers: HealthMonitor;
  readonly #ways: HealthMonitor;
  readonly #machines: HealthMonitor;
  #hasWays = false;

  constructor(options: HealthMonitorOptions) {
    const { settings, onSettledDown, ...others } = options;
    // Nothing but a way waits for the first failure of an API server.
    const onFirstFailure = { onSettledDown: () => this.#hasWays && onSettledDown?.() };
    this.#servers = new HealthMonitor({ ...others, settings, ...onFirstFailure });
    this.#ways = new HealthMonitor({
      ...others,
      ...onFirstFailure,
      settings: { ...settings, maxConcurrent: WAYS_AT_ONCE, maxProbesPerSecond: WAYS_PER_SECOND },
    });
    this.#machines = new HealthMonitor({
      ...others,
      settings: { ...settings, maxConcurrent: MACHINES_AT_ONCE },
    });
  }

  setTargets(targets: readonly ProbeTarget[]): void {
    const ways = targets.filter(isWay);
    this.#hasWays = ways.length > 0;
    this.#servers.setTargets(targets.filter((target) => !isMachine(target) && !isWay(target)));
    this.#ways.setTargets(ways);
    this.#machines.setTargets(targets.filter(isMachine));
  }

  dialFailed(key: string): void {
    for (const each of this.#all) each.dialFailed(key);
  }

  snapshot(): ReadonlyMap<string, TargetHealth> {
    const [servers, ...others] = this.#all.map((each) => each.snapshot());
    if (others.every(({ size }) => size === 0)) return servers ?? new Map();
    return new Map([...(servers ?? []), ...others.flatMap((each) => [...each])]);
  }

  /** Each target is up or has failed, except for spare ways, for which nothing waits. */
  get isSettled(): boolean {
    return this.#all.every((each) => each.isSettled);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.stop()));
  }

  get #all(): readonly HealthMonitor[] {
    return [this.#servers, this.#ways, this.#machines];
  }
}

/** Only machines name their own check. API servers get the check from `--health`. */
const isMachine = ({ check }: ProbeTarget): boolean => check !== undefined;
const isWay = ({ way, check }: ProbeTarget): boolean => way !== undefined && check === undefined;
