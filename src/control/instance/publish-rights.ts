// Whether this instance may write what it publishes: Services, EndpointSlices and its Lease. Asked once at the start, and again while a
// right is missing. A process without these rights must not replace one that has them: it could not renew the Lease of its node.
import { isAllowed } from '../../kube/access-review.ts';
import type { Requester } from '../../kube/kube-client.ts';
import { KubeError, type KubeErrorCode } from '../../kube/kube-error.ts';
import { neededRights, shownResource } from '../objects/needed-rights.ts';
import type { ReadyCheck } from '../objects/ready-check.ts';

export interface PublishRightsOptions {
  readonly client: Requester;
  readonly namespace: string;
  readonly clusterNamespace: string | null;
  /** Called when the result of the check changes. */
  readonly onChange: () => void;
  readonly retryMs?: number;
}

const REQUEST_MS = 8000;
const RETRY_MS = 3000;
/** The server does not answer reviews. Then the first write of the Lease shows a missing right. */
const NO_REVIEWS: ReadonlySet<KubeErrorCode> = new Set(['forbidden', 'not-found', 'invalid', 'bad-answer']);

export class PublishRights {
  readonly #options: PublishRightsOptions;
  readonly #abort = new AbortController();
  #failure: string | null = 'not asked yet';
  #timer: NodeJS.Timeout | null = null;

  constructor(options: PublishRightsOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#ask();
  }

  stop(): void {
    this.#abort.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  check(): ReadyCheck {
    return { name: 'rights', failure: this.#failure };
  }

  async #ask(): Promise<void> {
    const { onChange, retryMs = RETRY_MS } = this.#options;
    const before = this.#failure;
    this.#failure = await this.#missing();
    if (this.#abort.signal.aborted) return;
    if (this.#failure !== null) this.#timer = setTimeout(() => void this.#ask(), retryMs);
    if (this.#failure !== before) onChange();
  }

  /** null: nothing is missing, or the server does not say. */
  async #missing(): Promise<string | null> {
    const { client, namespace, clusterNamespace } = this.#options;
    const { signal } = this.#abort;
    const rights = neededRights({ namespace, clusterNamespace }).filter(({ where }) => where === 'services');
    const asked = rights.flatMap((right) => right.verbs.map((verb) => ({ ...right, verb })));
    try {
      const answers = await Promise.all(
        asked.map((each) => isAllowed(client, each, { timeoutMs: REQUEST_MS, signal })),
      );
      const missing = asked.filter((_, index) => answers[index] === false);
      if (missing.length === 0) return null;
      const named = missing.map((each) => `${each.verb} ${shownResource(each)}`).join(', ');
      return `may not ${named} in ${namespace}: add these verbs to the Role`;
    } catch (error) {
      if (!(error instanceof KubeError)) return signal.aborted ? this.#failure : Promise.reject(error);
      return NO_REVIEWS.has(error.code) ? null : error.message;
    }
  }
}
