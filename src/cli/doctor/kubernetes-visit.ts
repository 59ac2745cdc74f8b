// What the checks of one visit to the Kubernetes API share: the client, and what earlier checks have learnt. Nothing is written.
import type { KubeClient } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { apiTrouble } from './api-trouble.ts';
import type { Finding } from './check.ts';

/** Below the time that a check has: its own words are better than "no answer". */
export const REQUEST_MS = 4000;

export class KubernetesVisit {
  /** How far the server's clock is ahead of ours; null until it has answered. */
  skewMs: number | null = null;
  /** As the server knows us; null where it does not tell. */
  user: string | null = null;
  #client: KubeClient | null = null;

  get client(): KubeClient {
    if (this.#client === null) throw new Error('the check of the credentials comes first');
    return this.#client;
  }

  opened(client: KubeClient): void {
    this.#client = client;
  }

  /** Who is refused, for a sentence: the server's name for us, or where our credentials come from. */
  get who(): string {
    return this.user ?? this.client.identity;
  }

  trouble(error: unknown): Finding {
    if (!(error instanceof KubeError)) throw error;
    return apiTrouble(error, this.client);
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }
}
