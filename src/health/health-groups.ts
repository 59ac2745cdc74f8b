// Probes API servers and the machines behind listeners, each kind at its own rate. Thousands of machines may delay each other's
// probes. They must not delay the probe of an API server, because that would prolong its outage.
import { HealthMonitor, type HealthMonitorOptions } from './health-monitor.ts';
import type { HealthSettings } from './health-settings.ts';
import type { ProbeTarget } from './probe.ts';
import type { TargetHealth } from './target-health.ts';

/** Machines have their own number of concurrent probes, so machines that wait for a timeout do not delay API servers. */
const MACHINES_AT_ONCE = 128;

/** The number of concurrent probes for both kinds together. */
export const probesAtOnce = ({ maxConcurrent }: Pick<HealthSettings, 'maxConcurrent'>): number =>
  maxConcurrent + MACHINES_AT_ONCE;

export class HealthGroups {
  readonly #servers: HealthMonitor;
  readonly #machines: HealthMonitor;

  constructor(options: HealthMonitorOptions) {
    this.#servers = new HealthMonitor(options);
    this.#machines = new HealthMonitor({
      ...options,
      settings: { ...options.settings, maxConcurrent: MACHINES_AT_ONCE },
    });
  }

  setTargets(targets: readonly ProbeTarget[]): void {
    this.#servers.setTargets(targets.filter((target) => !isMachine(target)));
    this.#machines.setTargets(targets.filter(isMachine));
  }

  dialFailed(key: string): void {
    this.#servers.dialFailed(key);
    this.#machines.dialFailed(key);
  }

  snapshot(): ReadonlyMap<string, TargetHealth> {
    const machines = this.#machines.snapshot();
    const servers = this.#servers.snapshot();
    return machines.size === 0 ? servers : new Map([...servers, ...machines]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#servers.stop(), this.#machines.stop()]);
  }
}

/** Only machines name their own check. API servers get the check from `--health`. */
const isMachine = ({ check }: ProbeTarget): boolean => check !== undefined;
