// The supervisor's watchdog (WatchdogSec=): a sign of life at half of its time, for as long as we are well. That a timer runs at all
// proves the main thread; the rest is asked for.

type Environment = Readonly<Record<string, string | undefined>>;

/** null: nobody watches this process. */
export function watchdogIntervalMs(environment: Environment, pid: number): number | null {
  const usec = Number(environment.WATCHDOG_USEC);
  if (!Number.isFinite(usec) || usec <= 0) return null;
  const { WATCHDOG_PID: meant } = environment;
  if (meant !== undefined && meant !== '' && Number(meant) !== pid) return null;
  return Math.max(1, Math.floor(usec / 2000));
}

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
