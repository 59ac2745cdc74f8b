// The demo's management cluster: the in-memory Kubernetes API over HTTPS, its users, and the objects that Cluster API would create.
// It publishes nothing itself: the demo shows how Isthmus does that.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ManagementApi, startManagementApi } from '../test/fake-kube-api/management-api.ts';
import { neededRules } from '../test/fake-kube-api/needed-access.ts';
import type { StoredObject } from '../test/fake-kube-api/stored-object.ts';
import { additionalListenerDefinition } from '../test/fake-kube-api/types/additional-listener-definition.ts';
import {
  machineDefinition,
  openStackClusterDefinition,
} from '../test/fake-kube-api/types/cluster-api-definitions.ts';
import { authority } from './demo-certificates.ts';
import { clusterKubeconfig } from './demo-kubeconfig.ts';
import { API_PORT, type DemoCluster, type DemoMachine, SHARED_ADDRESS } from './demo-world.ts';
import type { SliceView } from './service-endpoint.ts';

export const NAMESPACE = 'magnum-system';
/** The settings of `isthmus run` in this demo. */
export const RIGHTS_SETTINGS = {
  namespace: NAMESPACE,
  clusterNamespace: NAMESPACE,
  nodeSelector: {},
} as const;
export const DIRECT_SERVER = `https://${SHARED_ADDRESS}:${API_PORT}`;
const OPENSTACK_CLUSTER = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'OpenStackCluster',
  namespace: NAMESPACE,
} as const;
const MACHINE = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine' } as const;
const LISTENER = { apiVersion: 'isthmus.dev/v1alpha1', kind: 'AdditionalListener' } as const;
const SERVICE = { apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE } as const;
const SLICE = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: NAMESPACE } as const;

/** The users of the management API. Their tokens are valid only in this process. */
const USERS = {
  admin: 'kubernetes-admin',
  isthmus: `system:serviceaccount:${NAMESPACE}:isthmus`,
  client: 'magnum-conductor',
} as const;
export type DemoUser = keyof typeof USERS;

const tokenOf = (user: DemoUser): string => `demo-token-of-${user}`;
export const objectName = (cluster: string): string => `${cluster}-x7k2p`;

export class DemoManagement {
  readonly #api: ManagementApi;
  readonly #directory: string;
  readonly ca: Buffer;

  private constructor(api: ManagementApi, ca: Buffer, directory: string) {
    this.#api = api;
    this.ca = ca;
    this.#directory = directory;
  }

  static async start(directory: string, port: number): Promise<DemoManagement> {
    const names = 'IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc';
    const { cert, key } = authority(directory, 'management', 'CA of the management cluster', names);
    const api = await startManagementApi({
      port,
      tls: { key, cert, ca: cert },
      tokens: new Map(Object.entries(USERS).map(([user, name]) => [tokenOf(user as DemoUser), name])),
      access: new Map([
        [USERS.isthmus, neededRules(RIGHTS_SETTINGS)],
        [
          USERS.client,
          [
            { apiGroups: [''], resources: ['secrets', 'services'], verbs: ['get'], namespace: NAMESPACE },
            {
              apiGroups: ['discovery.k8s.io'],
              resources: ['endpointslices'],
              verbs: ['list'],
              namespace: NAMESPACE,
            },
          ],
        ],
      ]),
      namespaces: [NAMESPACE],
      definitions: [
        openStackClusterDefinition({ served: ['v1beta1'] }),
        machineDefinition(),
        additionalListenerDefinition(),
      ],
      garbageCollection: true,
    });
    return new DemoManagement(api, cert, directory);
  }

  get url(): string {
    return this.#api.url;
  }

  token(user: DemoUser): string {
    return tokenOf(user);
  }

  /** Writes a kubeconfig for the management API. `server` replaces its address, for use outside the sandbox. */
  writeKubeconfig(user: DemoUser, options: { directory?: string; server?: string } = {}): string {
    const { directory = this.#directory, server = this.#api.url } = options;
    const file = join(directory, `${user}.kubeconfig`);
    const text = this.#api.kubeconfig(USERS[user]).replace(this.#api.url, server);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  }

  /** Creates what Cluster API and its providers create for a cluster: its object, and a kubeconfig for direct access. */
  addCluster(cluster: DemoCluster): void {
    const { name, networkId } = cluster;
    const labels = { 'cluster.x-k8s.io/cluster-name': name };
    const kubeconfig = clusterKubeconfig(cluster, DIRECT_SERVER);
    this.#api.store.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-kubeconfig`, namespace: NAMESPACE, labels },
      type: 'cluster.x-k8s.io/secret',
      data: { value: Buffer.from(kubeconfig).toString('base64') },
    });
    this.#api.store.create({
      apiVersion: OPENSTACK_CLUSTER.apiVersion,
      kind: OPENSTACK_CLUSTER.kind,
      metadata: { name: objectName(name), namespace: NAMESPACE, labels },
      spec: {
        identityRef: { name: `${name}-cloud-config`, cloudName: 'default' },
        disableAPIServerFloatingIP: true,
        apiServerPort: API_PORT,
        controlPlaneEndpoint: { host: SHARED_ADDRESS, port: API_PORT },
      },
      status: {
        ready: true,
        network: { id: networkId, name: `k8s-clusterapi-cluster-${NAMESPACE}-${name}` },
        apiServerLoadBalancer: {
          id: `lb-of-${name}`,
          name: `k8s-clusterapi-cluster-${NAMESPACE}-${name}-kubeapi`,
          ip: SHARED_ADDRESS,
          internalIP: SHARED_ADDRESS,
        },
      },
    });
  }

  /** Only a cluster without a floating IP is proxied. */
  setFloatingIp(cluster: string, hasOne: boolean): void {
    this.#api.store.patch(
      { ...OPENSTACK_CLUSTER, name: objectName(cluster) },
      { spec: { disableAPIServerFloatingIP: !hasOne } },
    );
  }

  /** Creates the object that Cluster API creates for a machine. */
  addMachine(cluster: string, { name, address, labels }: DemoMachine): void {
    this.#api.store.create({
      ...MACHINE,
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: { 'cluster.x-k8s.io/cluster-name': cluster, ...labels },
      },
      spec: { clusterName: cluster, bootstrap: {}, infrastructureRef: {} },
      status: { phase: 'Running', addresses: [{ type: 'InternalIP', address }] },
    });
  }

  addNode(name: string, labels: Readonly<Record<string, string>>): void {
    this.#api.store.create({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  }

  /** null removes a label. */
  labelNode(name: string, labels: Readonly<Record<string, string | null>>): void {
    this.#api.store.patch({ apiVersion: 'v1', kind: 'Node', name }, { metadata: { labels } });
  }

  /** null removes an annotation. */
  annotateCluster(cluster: string, annotations: Readonly<Record<string, string | null>>): void {
    this.#api.store.patch({ ...OPENSTACK_CLUSTER, name: objectName(cluster) }, { metadata: { annotations } });
  }

  /** Sets labels on a Service as another user would. */
  labelService(name: string, labels: Readonly<Record<string, string>>): void {
    this.#api.store.patch({ ...SERVICE, name }, { metadata: { labels } });
  }

  serviceLabels(name: string): Readonly<Record<string, string>> {
    return (this.#api.store.get({ ...SERVICE, name })?.metadata.labels ?? {}) as Record<string, string>;
  }

  addListener(name: string, spec: object): void {
    this.#api.store.create({ ...LISTENER, metadata: { name, namespace: NAMESPACE }, spec });
  }

  patchListener(name: string, spec: object): void {
    this.#api.store.patch({ ...LISTENER, namespace: NAMESPACE, name }, { spec });
  }

  kubeconfig(cluster: string): string {
    const ref = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: `${cluster}-kubeconfig` };
    const { value = '' } = (this.#api.store.get(ref)?.data ?? {}) as Record<string, string>;
    return Buffer.from(value, 'base64').toString('utf8');
  }

  /** All slices of one cluster, from any publisher. */
  slices(cluster: string): SliceView[] {
    return (this.#api.store.list(SLICE) as unknown as SliceView[]).filter(
      ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === cluster,
    );
  }

  isReady(cluster: string): boolean {
    return this.slices(cluster).some(({ endpoints }) => endpoints?.[0]?.conditions?.ready === true);
  }

  isTerminating(cluster: string): boolean {
    return this.slices(cluster).some(({ endpoints }) => endpoints?.[0]?.conditions?.terminating === true);
  }

  hasService(cluster: string): boolean {
    return this.#api.store.get({ ...SERVICE, name: cluster }) !== null;
  }

  leases(): StoredObject[] {
    return this.#api.store.list({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      namespace: NAMESPACE,
    });
  }

  close(): Promise<void> {
    return this.#api.close();
  }
}
