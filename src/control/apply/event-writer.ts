// Writes Events for OpenStackClusters and AdditionalListeners, one at a time and rate-limited. An Event that cannot be written is
// dropped: it is only information, and nothing waits for it.
import { abortableSleep } from '../../kube/abortable.ts';
import { resourcePath } from '../../kube/api-path.ts';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { StatusEvent } from '../plan/status-events.ts';
import { EventCorrelator, type EventObjectBody } from './event-correlator.ts';

export interface EventWriterOptions {
  readonly client: Requester;
  readonly instance: string;
  readonly now: () => number;
  readonly wallNow: () => number;
  readonly onProblem: (error: KubeError | null) => void;
}

/** Spreads the Events of a thousand simultaneous changes over about two minutes. */
const PACE_MS = 100;
const MAX_WAITING = 1000;
/** The limit for a Retry-After of the server, because old Events are not useful. */
const MAX_PAUSE_MS = 60_000;
const REQUEST_MS = 10_000;

export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #correlator: EventCorrelator;
  readonly #waiting: StatusEvent[] = [];
  readonly #abort = new AbortController();
  #writing: Promise<void> | null = null;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#correlator = new EventCorrelator({ ...options, wallClock: options.wallNow });
  }

  enqueue(events: readonly StatusEvent[]): void {
    for (const event of events) if (this.#waiting.length < MAX_WAITING) this.#waiting.push(event);
    if (this.#waiting.length > 0 && !this.#abort.signal.aborted) this.#writing ??= this.#writeAll();
  }

  async stop(): Promise<void> {
    this.#waiting.length = 0;
    this.#abort.abort();
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      let pauseMs = PACE_MS;
      try {
        if (await this.#write(event)) this.#options.onProblem(null);
      } catch (error) {
        if (this.#abort.signal.aborted) break;
        if (!(error instanceof KubeError)) throw error;
        this.#options.onProblem(error);
        pauseMs = Math.min(Math.max(PACE_MS, error.retryAfterMs ?? 0), MAX_PAUSE_MS);
      }
      await abortableSleep(pauseMs, this.#abort.signal);
    }
    this.#writing = null;
  }

  async #write(event: StatusEvent): Promise<boolean> {
    const decision = this.#correlator.decide(event);
    if (decision.kind === 'drop') return false;
    if (decision.kind === 'create') return this.#create(decision.body);
    const { client } = this.#options;
    const { namespace, name, body, instead } = decision;
    const path = resourcePath({ group: '', version: 'v1', resource: 'events', namespace, name });
    try {
      await client.request({ method: 'PATCH', patch: 'merge', path, body, ...this.#limits() });
      return true;
    } catch (error) {
      if (error instanceof KubeError && error.code === 'not-found') return this.#create(instead);
      throw error;
    }
  }

  async #create(body: EventObjectBody): Promise<boolean> {
    const { namespace = '' } = body.metadata;
    const path = resourcePath({ group: '', version: 'v1', resource: 'events', namespace });
    await this.#options.client.request({ method: 'POST', path, body, ...this.#limits() });
    return true;
  }

  #limits() {
    return { timeoutMs: REQUEST_MS, signal: this.#abort.signal };
  }
}
