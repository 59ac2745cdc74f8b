// Finds the configuration for the API server: an explicit file, KUBECONFIG, the service account of the Pod, or ~/.kube/config.
// Pure: the environment and the file check are arguments.
import { delimiter, join } from 'node:path';
import { KubeconfigError } from './kubeconfig-error.ts';

export type KubeconfigPlace =
  | { readonly kind: 'files'; readonly paths: readonly string[] }
  | {
      readonly kind: 'in-cluster';
      readonly server: string;
      readonly tokenFile: string;
      readonly caFile: string;
    };

export interface PlaceQuestion {
  /** The operator's explicit path; null: search the standard places. */
  readonly kubeconfig: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly exists: (path: string) => boolean;
  readonly serviceAccountDirectory?: string;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export function kubeconfigPlace({
  kubeconfig,
  environment,
  exists,
  serviceAccountDirectory = SERVICE_ACCOUNT,
}: PlaceQuestion): KubeconfigPlace {
  if (kubeconfig !== null) return { kind: 'files', paths: [kubeconfig] };
  const listed = (environment.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) {
    // Like kubectl: skip listed files that do not exist.
    const present = listed.filter(exists);
    if (present.length > 0) return { kind: 'files', paths: present };
    throw new KubeconfigError('missing', `KUBECONFIG names ${listed.join(', ')}: there is no such file`);
  }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, HOME: home } = environment;
  const tokenFile = join(serviceAccountDirectory, 'token');
  if (host && port && exists(tokenFile)) {
    const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    return { kind: 'in-cluster', server, tokenFile, caFile: join(serviceAccountDirectory, 'ca.crt') };
  }
  const own = home ? join(home, '.kube', 'config') : null;
  if (own !== null && exists(own)) return { kind: 'files', paths: [own] };
  throw new KubeconfigError(
    'missing',
    `found no credentials for a Kubernetes API: no kubeconfig is given, KUBECONFIG is not set, and there is no service account of a Pod (${tokenFile})${
      own === null ? '' : ` and no ${own}`
    }`,
  );
}
