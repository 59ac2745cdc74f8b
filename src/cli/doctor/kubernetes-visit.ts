// The state that the Kubernetes checks of one run share: the client and the results of earlier checks. It writes nothing.
import type { KubeClient } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { apiTrouble } from './api-trouble.ts';
import type { Finding } from './check.ts';

/** Shorter than the timeout of a check: the request's own error is more precise than "no answer". */
export const REQUEST_MS = 4000;

export class KubernetesVisit {
  /** How far the server's clock is ahead of this host's; null until the server has sent its time. */
  skewMs: number | null = null;
  /** The user name that the server reports for these credentials; null if it reports none. */
  user: string | null = null;
  #client: KubeClient | null = null;

  get client(): KubeClient {
    if (this.#client === null) throw new Error('the check of the credentials comes first');
    return this.#client;
  }

  opened(client: KubeClient): void {
    this.#client = client;
  }

  /** The subject of a message about rights: the user name from the server, or else the source of the credentials. */
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
