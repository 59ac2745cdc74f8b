// What may end one call from outside: its deadline, its caller, the closing of the client. Whatever error the call then ends with,
// the reason of the signal is the one to tell.
import { KubeError } from '../kube-error.ts';

/** What a call is about, for its errors. */
export interface CallSubject {
  readonly verb: string;
  readonly path: string;
}

export class CallLimits {
  readonly #subject: CallSubject;
  readonly #controller = new AbortController();
  readonly #release: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(subject: CallSubject, caller: AbortSignal | undefined, closed: AbortSignal) {
    this.#subject = subject;
    this.#follow(caller, () => caller?.reason);
    this.#follow(
      closed,
      () => new KubeError({ ...subject, code: 'unreachable', detail: 'the client was closed' }),
    );
  }

  /** Its reason is a KubeError, or the caller's own. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The deadline is this far away, from now; `what` did not happen when it is over. */
  restart(ms: number, what: string): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(
        new KubeError({ ...this.#subject, code: 'timeout', detail: `${what} within ${ms} ms` }),
      );
    }, ms);
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const release of this.#release) release();
  }

  #follow(signal: AbortSignal | undefined, reason: () => unknown): void {
    if (signal === undefined) return;
    const abort = () => this.#controller.abort(reason());
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#release.push(() => signal.removeEventListener('abort', abort));
  }
}
