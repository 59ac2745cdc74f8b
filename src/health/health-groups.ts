// API servers and the machines behind listeners, each kind probed at a rate of its own: thousands of machines make each other wait, and
// never an API server, whose outage would last as long.
import { HealthMonitor, type HealthMonitorDeps } from './health-monitor.ts';
import type { HealthSettings } from './health-settings.ts';
import type { ProbeTarget } from './probe.ts';
import type { TargetHealth } from './target-health.ts';

/** Machines that wait for their timeout take no place from API servers either. */
const MACHINES_AT_ONCE = 128;

/** What a probe must be able to have under way for both. */
export const probesAtOnce = ({ maxConcurrent }: Pick<HealthSettings, 'maxConcurrent'>): number =>
  maxConcurrent + MACHINES_AT_ONCE;

export class HealthGroups {
  readonly #servers: HealthMonitor;
  readonly #machines: HealthMonitor;

  constructor(deps: HealthMonitorDeps) {
    this.#servers = new HealthMonitor(deps);
    this.#machines = new HealthMonitor({
      ...deps,
      settings: { ...deps.settings, maxConcurrent: MACHINES_AT_ONCE },
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

/** An API server is asked what `--health` says. */
const isMachine = ({ check }: ProbeTarget): boolean => check !== undefined;
