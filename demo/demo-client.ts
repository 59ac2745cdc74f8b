// A client in the management cluster, such as magnum-conductor: it reads a cluster's kubeconfig from the API and uses it unchanged.
// It trusts only the CA in the kubeconfig. So an answer proves which cluster it reached, and that TLS is end to end.
import { get, type RequestOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { type KubeconfigFacts, kubeconfigFacts } from './demo-kubeconfig.ts';
import {
  type ServiceEndpoint,
  type ServiceView,
  type SliceView,
  serviceEndpoint,
} from './service-endpoint.ts';

export interface DemoClientOptions {
  /** The management API. */
  readonly url: string;
  readonly ca: Buffer;
  readonly token: string;
  readonly namespace: string;
}

export type Answer =
  | {
      readonly kind: 'answered';
      /** The server's cluster name, and the user that it authenticated. */
      readonly body: { readonly cluster: string; readonly user: string };
      readonly certificate: string;
      readonly ms: number;
    }
  /** OpenSSL's name of a TLS alert, such as "tlsv1 unrecognized name", or the code of a network error. */
  | { readonly kind: 'failed'; readonly error: string };

export type Resolved = ServiceEndpoint & { readonly clusterIp: string | null };

const TIMEOUT_MS = 5000;

export class DemoClient {
  readonly #options: DemoClientOptions;

  constructor(options: DemoClientOptions) {
    this.#options = options;
  }

  async kubeconfig(cluster: string): Promise<KubeconfigFacts> {
    const secret = await this.#get<{ readonly data: { readonly value: string } }>(
      `/api/v1/namespaces/${this.#options.namespace}/secrets/${cluster}-kubeconfig`,
    );
    return kubeconfigFacts(Buffer.from(secret.data.value, 'base64').toString('utf8'));
  }

  /** Does the work of CoreDNS (name → Service) and kube-proxy (Service → ready endpoint), from the same API objects. */
  async resolve(server: string): Promise<Resolved> {
    const { hostname, port } = new URL(server);
    const [name, namespace] = hostname.split('.') as [string, string?];
    if (namespace !== this.#options.namespace)
      return { kind: 'none', reason: `${hostname} names no Service`, clusterIp: null };
    const service = await this.#get<ServiceView>(`/api/v1/namespaces/${namespace}/services/${name}`);
    const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
    const { items } = await this.#get<{ readonly items: readonly SliceView[] }>(
      `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`,
    );
    return {
      ...serviceEndpoint(service, items, Number(port)),
      clusterIp: service.spec.clusterIP ?? null,
    };
  }

  /** The complete path: kubeconfig, name, Service, endpoint, TLS. */
  async ask(cluster: string): Promise<Answer> {
    const kubeconfig = await this.kubeconfig(cluster);
    const to = await this.resolve(kubeconfig.server);
    if (to.kind === 'none') return { kind: 'failed', error: to.reason };
    return askServer(to, new URL(kubeconfig.server).hostname, kubeconfig);
  }

  #get<T>(path: string): Promise<T> {
    const { url, ca, token } = this.#options;
    const { hostname: host, port } = new URL(url);
    return httpsGet({ host, port, path, ca, headers: { authorization: `Bearer ${token}` } }).then(
      ({ status, text }) => {
        if (status !== 200) throw new Error(`GET ${path} answers ${status}`);
        return JSON.parse(text) as T;
      },
    );
  }
}

/** Sends one request with this server name to the given address. */
export async function askServer(
  { address, port }: { readonly address: string; readonly port: number },
  serverName: string,
  { ca, cert, key }: Pick<KubeconfigFacts, 'ca' | 'cert' | 'key'>,
): Promise<Answer> {
  const started = performance.now();
  try {
    const { text, certificate } = await httpsGet({
      host: address,
      port,
      servername: serverName,
      path: '/version',
      headers: { host: `${serverName}:6443` },
      ca,
      cert,
      key,
    });
    return { kind: 'answered', body: JSON.parse(text), certificate, ms: performance.now() - started };
  } catch (error) {
    return { kind: 'failed', error: shownError(error as NodeJS.ErrnoException) };
  }
}

/** OpenSSL reports an alert as `…:SSL routines:ssl3_read_bytes:tlsv1 unrecognized name:…`. */
function shownError({ code, message }: NodeJS.ErrnoException): string {
  return /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1] ?? code ?? message;
}

/** The status of a request to the management API, as one of its users. */
export async function statusOf(url: string, ca: Buffer, token: string): Promise<number> {
  const { hostname: host, port, pathname: path } = new URL(url);
  const { status } = await httpsGet({ host, port, path, ca, headers: { authorization: `Bearer ${token}` } });
  return status;
}

function httpsGet(
  options: RequestOptions,
): Promise<{ readonly status: number; readonly text: string; readonly certificate: string }> {
  return new Promise((resolve, reject) => {
    const request = get({ ...options, agent: false, timeout: TIMEOUT_MS }, (response) => {
      const certificate = String(
        (response.socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'no common name',
      );
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text, certificate }));
    });
    request.once('timeout', () =>
      request.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })),
    );
    request.once('error', reject);
  });
}
