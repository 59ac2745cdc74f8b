// Waiting until an engine has no connections left.

export class IdleGate {
  readonly #isIdle: () => boolean;
  readonly #waiters = new Set<() => void>();

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle;
  }

  /** To be called when a connection has ended. */
  connectionEnded(): void {
    if (this.#waiters.size > 0 && this.#isIdle()) for (const wake of [...this.#waiters]) wake();
  }

  /** Resolves with true when the time ran out first; null waits for as long as it takes. */
  wait(timeoutMs: number | null): Promise<boolean> {
    if (this.#isIdle()) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = timeoutMs === null ? undefined : setTimeout(() => settle(true), timeoutMs);
      const settle = (expired: boolean) => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve(expired);
      };
      const wake = () => settle(false);
      this.#waiters.add(wake);
    });
  }
}
