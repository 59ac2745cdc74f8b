// Waits until an engine has no connections left.
import type { DrainResult } from './engine.ts';

export class IdleGate {
  readonly #isIdle: () => boolean;
  readonly #waiters = new Set<() => void>();

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle;
  }

  /** The engine calls this each time a connection has ended. */
  connectionEnded(): void {
    if (this.#waiters.size > 0 && this.#isIdle()) for (const wake of [...this.#waiters]) wake();
  }

  /** Waits for `before` connections to finish and aborts the rest after `timeoutMs`. The engine must have stopped accepting. */
  async drain(timeoutMs: number, before: number, abortRest: () => number): Promise<DrainResult> {
    const reset = (await this.wait(timeoutMs)) ? abortRest() : 0;
    await this.wait(null);
    return { finished: Math.max(0, before - reset), reset };
  }

  /** Resolves with true on timeout. null waits without a limit. */
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
