// The state that the Kubernetes checks of one run share: the client and the results of earlier checks. It advises when the API is
// unreachable, untrusted, or rejects the credentials. It writes nothing.
import type { KubeClient } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type Finding, problem } from './check.ts';

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

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);

export interface ApiPlace {
  readonly server: string;
  /** How this client authenticates; never a secret. */
  readonly identity: string;
}

/** For a request that fails, or an answer that rejects the credentials. */
export function apiTrouble(error: KubeError, { server, identity }: ApiPlace): Finding {
  const detail = error.message;
  if (error.code === 'unauthorized')
    return problem(
      `${server} refuses ${identity} (401)`,
      'Renew that token or certificate: an expired one is the usual cause.',
    );
  if (error.code === 'forbidden')
    return problem(detail, `Allow it to ${identity} in a Role or ClusterRole, and bind it.`);
  if (error.code === 'timeout')
    return problem(
      `${server} does not answer`,
      'Look for a firewall, a wrong route or a wrong address between here and there.',
    );
  return problem(`${server}: ${detail}`, unreachableFix(error.systemCode ?? ''));
}

function unreachableFix(code: string): string {
  if (UNTRUSTED.has(code))
    return 'Its certificate is not of the authority that the kubeconfig trusts: correct certificate-authority(-data), or the address.';
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'Use a name or address that its certificate carries, or tls-server-name in the kubeconfig.';
    case 'CERT_HAS_EXPIRED':
      return "Renew the API server's certificate, or correct the clock of this host.";
    case 'CERT_NOT_YET_VALID':
      return 'Set the clock of this host, which is behind: the certificate begins later.';
    case 'ECONNREFUSED':
      return 'Nothing listens there: start the API server, or correct the server in the kubeconfig.';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'Its name cannot be resolved: correct the server in the kubeconfig, or the DNS of this host.';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return 'Look for a firewall, a wrong route or a wrong address between here and there.';
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return 'It does not speak TLS: correct the scheme or the port of the server in the kubeconfig.';
    default:
      return 'Check that this is a Kubernetes API server and that it is ready (kubectl get --raw /readyz).';
  }
}
