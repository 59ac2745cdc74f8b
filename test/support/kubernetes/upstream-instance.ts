// The externally visible behaviour of a magnum-cluster-api-proxy instance. It overwrites labels and ports of each Service and
// writes a timestamp on its slices. It deletes every slice of its kind with a stale timestamp, and crashes on a slice without one.
import type { AdminStore } from '../../fake-kube-api/management-api.ts';

const NAMESPACE = 'magnum-system';
const PREFIX = 'magnum-cluster-api.vexxhost.com';
/** The original uses ten seconds. */
const EVERY_MS = 100;
/** As in the original: slices of other instances must be at most this old. */
const EXPIRES_MS = 30_000;
const SERVICE = { apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE } as const;
const SLICE = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: NAMESPACE } as const;

export class UpstreamInstance {
  readonly #store: AdminStore;
  readonly #node: string;
  readonly #clusters: readonly string[];
  #timer: NodeJS.Timeout | null = null;
  turns = 0;
  /** Why the instance ended, if it was not stopped. */
  crash: Error | null = null;

  constructor(store: AdminStore, node: string, clusters: readonly string[]) {
    this.#store = store;
    this.#node = node;
    this.#clusters = clusters;
  }

  start(): void {
    this.#turn();
    this.#timer = setInterval(() => {
      try {
        this.#turn();
      } catch (error) {
        this.crash = error as Error;
        this.stop();
      }
    }, EVERY_MS);
  }

  /** Leaves all published objects in place, as the original does. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #turn(): void {
    for (const cluster of this.#clusters) {
      this.#putService(cluster);
      this.#putSlice(cluster);
    }
    for (const { metadata } of this.#store.list(SLICE)) {
      if (metadata.labels?.[`${PREFIX}/proxied-service`] !== 'true') continue;
      const timestamp = metadata.annotations?.[`${PREFIX}/timestamp`];
      if (timestamp === undefined) throw new Error(`KeyError: ${metadata.name} has no timestamp`);
      if (!timestamp.endsWith('+00:00')) throw new Error(`ValueError: ${timestamp}`);
      if (Date.now() - Date.parse(timestamp) > EXPIRES_MS)
        this.#store.delete({ ...SLICE, name: metadata.name as string });
    }
    this.turns += 1;
  }

  #putService(cluster: string): void {
    const labels: Record<string, string> = { [`${PREFIX}/proxied-service`]: 'true' };
    const ports = [{ name: 'https', port: 6443, targetPort: 6443, protocol: 'TCP' }];
    const found = this.#store.get({ ...SERVICE, name: cluster });
    if (found === null) {
      const { apiVersion, kind, namespace } = SERVICE;
      this.#store.create({
        apiVersion,
        kind,
        metadata: { name: cluster, namespace, labels },
        spec: { ports },
      });
      return;
    }
    // Server-side apply with force: it sets its own labels and leaves annotations alone. It clears unknown labels.
    const cleared = Object.fromEntries(
      Object.keys(found.metadata.labels ?? {}).map((key) => [key, labels[key] ?? null]),
    );
    this.#store.patch(
      { ...SERVICE, name: cluster },
      { metadata: { labels: { ...cleared, ...labels } }, spec: { ports } },
    );
  }

  #putSlice(cluster: string): void {
    const name = `${cluster}-${this.#node}`;
    const { apiVersion, kind, namespace } = SLICE;
    const object = {
      apiVersion,
      kind,
      metadata: {
        name,
        namespace,
        labels: {
          'kubernetes.io/service-name': cluster,
          [`${PREFIX}/node`]: this.#node,
          [`${PREFIX}/proxied-cluster`]: cluster,
          [`${PREFIX}/proxied-service`]: 'true',
        },
        annotations: { [`${PREFIX}/timestamp`]: new Date().toISOString().replace('Z', '+00:00') },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.99'], conditions: { ready: true }, nodeName: this.#node }],
      ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
    };
    if (this.#store.get({ ...SLICE, name }) === null) this.#store.create(object);
    else this.#store.patch({ ...SLICE, name }, object);
  }
}
