// What can end a call early: its deadline, its caller's signal, the close of the client. In each case, the reason of `signal` is
// the error to report.
import { KubeError } from '../kube-error.ts';

/** The verb and path of a call, for its errors. */
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

  /** Its reason is a KubeError or the caller's own reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the deadline. `what` names the missing event in the timeout error. */
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
