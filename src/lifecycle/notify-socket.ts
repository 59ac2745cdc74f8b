// Tells the supervisor (systemd) about us, as sd_notify(3) does: whether we serve, that we live, what a person should read. What
// cannot be told is logged once, and never stops us. Without NOTIFY_SOCKET nothing is told.
import type { NativeAddon } from '../netns/native.ts';

export interface NotifySocketDeps {
  /** NOTIFY_SOCKET; undefined: nobody wants to know. */
  readonly address: string | undefined;
  readonly addon: Pick<NativeAddon, 'notify'>;
  readonly onProblem: (error: Error) => void;
}

type Fields = Readonly<Record<string, string | number>>;

export class NotifySocket {
  readonly #deps: NotifySocketDeps;
  #failed = false;

  constructor(deps: NotifySocketDeps) {
    this.#deps = deps;
  }

  send(fields: Fields): void {
    const { address, addon, onProblem } = this.#deps;
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

type Environment = Readonly<Record<string, string | undefined>>;

/** null: nobody watches this process. */
export function watchdogIntervalMs(environment: Environment, pid: number): number | null {
  const usec = Number(environment.WATCHDOG_USEC);
  if (!Number.isFinite(usec) || usec <= 0) return null;
  const { WATCHDOG_PID: meant } = environment;
  if (meant !== undefined && meant !== '' && Number(meant) !== pid) return null;
  return Math.max(1, Math.floor(usec / 2000));
}

/**
 * The supervisor's watchdog (WatchdogSec=): a sign of life at half of its time, for as long as we are well. That a timer runs at all
 * proves the main thread; the rest is asked for.
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout;

  constructor(intervalMs: number, isWell: () => boolean, beat: () => void) {
    this.#timer = setInterval(() => {
      if (isWell()) beat();
    }, intervalMs);
    beat();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export interface ServiceSummary {
  /** Where clients are served; null: not yet. */
  readonly listen: string | null;
  /** How many clusters are in which state. */
  readonly states: ReadonlyMap<string, number>;
  /** Since when the Kubernetes API was not heard; null while it is, or there is none. */
  readonly staleSince: string | null;
}

/** What needs somebody's attention comes first; clusters that are not proxied need none. */
const TOLD = ['unhealthy', 'no-netns', 'invalid', 'pending'] as const;

/** The one line that `systemctl status` shows of us. */
export function statusLine({ listen, states, staleSince }: ServiceSummary): string {
  const count = (state: string) => states.get(state) ?? 0;
  const serving = count('serving');
  const clusters = `${serving} ${serving === 1 ? 'cluster' : 'clusters'}`;
  const parts = [`serving ${clusters}${listen === null ? '' : ` at ${listen}`}`];
  for (const state of TOLD) if (count(state) > 0) parts.push(`${count(state)} ${state}`);
  if (staleSince !== null) parts.push(`no word from the Kubernetes API since ${staleSince}`);
  return parts.join(', ');
}
