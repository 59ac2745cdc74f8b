// Sends readiness, watchdog signals and the status line to the supervisor (systemd), as sd_notify(3) does. A failure is logged
// once and changes nothing else. Without NOTIFY_SOCKET nothing is sent.
import type { NativeAddon } from '../netns/native.ts';
import type { Environment } from './settings-environment.ts';

export interface NotifySocketOptions {
  /** NOTIFY_SOCKET; undefined: no supervisor expects messages. */
  readonly address: string | undefined;
  readonly addon: Pick<NativeAddon, 'notify'>;
  readonly onProblem: (error: Error) => void;
}

type Fields = Readonly<Record<string, string | number>>;

export class NotifySocket {
  readonly #options: NotifySocketOptions;
  #failed = false;

  constructor(options: NotifySocketOptions) {
    this.#options = options;
  }

  send(fields: Fields): void {
    const { address, addon, onProblem } = this.#options;
    if (address === undefined || address === '') return;
    const lines = Object.entries(fields).map(
      ([key, value]) => `${key}=${String(value).replaceAll('\n', ' ')}`,
    );
    try {
      addon.notify(address, lines.join('\n'));
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) onProblem(error as Error);
      this.#failed = true;
    }
  }
}

/** null: the supervisor has no watchdog for this process. */
export function watchdogIntervalMs(environment: Environment, pid: number): number | null {
  const usec = Number(environment.WATCHDOG_USEC);
  if (!Number.isFinite(usec) || usec <= 0) return null;
  const { WATCHDOG_PID: meant } = environment;
  if (meant !== undefined && meant !== '' && Number(meant) !== pid) return null;
  return Math.max(1, Math.floor(usec / 2000));
}

/**
 * Feeds the supervisor's watchdog (WatchdogSec=) at half of its interval, while this process is healthy. The running timer proves
 * that the main thread works; `isHealthy` covers the control thread.
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout;

  constructor(intervalMs: number, isHealthy: () => boolean, beat: () => void) {
    this.#timer = setInterval(() => {
      if (isHealthy()) beat();
    }, intervalMs);
    beat();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export interface ServiceSummary {
  /** The address for clients; null: not listening yet. */
  readonly listen: string | null;
  /** null: ready. */
  readonly notReadyBecause: string | null;
  /** Number of clusters by state. */
  readonly states: ReadonlyMap<string, number>;
  /** Since when the Kubernetes API is unreachable; null while it is reachable, or if none is configured. */
  readonly staleSince: string | null;
}

/** In order of importance to the operator. Clusters that are not proxied need no attention. */
const REPORTED = ['unhealthy', 'no-netns', 'invalid', 'pending'] as const;

/** The line that `systemctl status` shows. */
export function statusLine({ listen, notReadyBecause, states, staleSince }: ServiceSummary): string {
  if (notReadyBecause !== null) return `not ready: ${notReadyBecause}`;
  const count = (state: string) => states.get(state) ?? 0;
  const serving = count('serving');
  const clusters = `${serving} ${serving === 1 ? 'cluster' : 'clusters'}`;
  const parts = [`serving ${clusters}${listen === null ? '' : ` at ${listen}`}`];
  for (const state of REPORTED) if (count(state) > 0) parts.push(`${count(state)} ${state}`);
  if (staleSince !== null) parts.push(`no update from the Kubernetes API since ${staleSince}`);
  return parts.join(', ');
}
