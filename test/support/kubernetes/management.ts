// The in-memory management API with the objects of a site: namespace, CRDs, kubeconfigs for the instances of a test.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ManagementApi, startManagementApi } from '../../fake-kube-api/management-api.ts';
import { neededRules } from '../../fake-kube-api/needed-access.ts';
import type { StoredObject } from '../../fake-kube-api/stored-object.ts';
import { additionalListenerDefinition } from '../../fake-kube-api/types/additional-listener-definition.ts';
import {
  machineDefinition,
  type OpenStackClusterVersion,
  openStackClusterDefinition,
} from '../../fake-kube-api/types/cluster-api-definitions.ts';
import { convertOpenStackCluster } from '../../fake-kube-api/types/openstack-cluster-conversion.ts';
import { selfSigned } from '../certificates.ts';
import { Isthmus } from '../isthmus.ts';
import { freePort } from '../tcp.ts';

export const NAMESPACE = 'magnum-system';

const MACHINE = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', namespace: NAMESPACE } as const;
const LISTENER = {
  apiVersion: 'isthmus.dev/v1alpha1',
  kind: 'AdditionalListener',
  namespace: NAMESPACE,
} as const;

export interface ClusterOptions {
  readonly name: string;
  readonly networkId: string;
  readonly address: string;
  readonly port?: number;
  readonly floatingIp?: boolean;
}

export class Management {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-test-management-'));
  readonly host: string;
  readonly #api: ManagementApi;
  readonly #instances: Isthmus[] = [];

  private constructor(api: ManagementApi, host: string) {
    this.#api = api;
    this.host = host;
  }

  static async start(
    options: {
      readonly withoutDefinitions?: boolean;
      /** The versions of OpenStackClusters that the server serves and stores; all of them by default. */
      readonly clusterVersions?: readonly OpenStackClusterVersion[];
      readonly bookmarkIntervalMs?: number;
      /** An address of this sandbox: loopback, unless instances have their own networks. */
      readonly host?: string;
    } = {},
  ): Promise<Management> {
    const { host = '127.0.0.1' } = options;
    const { cert, key } = selfSigned('management', host);
    const definitions = [
      openStackClusterDefinition({
        conversion: 'Webhook',
        ...(options.clusterVersions && { served: options.clusterVersions }),
      }),
      machineDefinition(),
      additionalListenerDefinition(),
    ];
    const api = await startManagementApi({
      host,
      // Clients dial this port also while the API is stopped. A port of the ephemeral range could connect a client to itself.
      port: await freePort(),
      tls: { key, cert, ca: cert },
      tokens: new Map([['admin-token', 'admin']]),
      namespaces: [NAMESPACE],
      definitions: options.withoutDefinitions ? [] : definitions,
      conversions: new Map([['openstackclusters.infrastructure.cluster.x-k8s.io', convertOpenStackCluster]]),
      garbageCollection: true,
      bookmarkIntervalMs: options.bookmarkIntervalMs ?? 1000,
    });
    return new Management(api, host);
  }

  get api(): ManagementApi {
    return this.#api;
  }

  /** An instance that is not started yet. Each `node` has its own token, which identifies its requests. */
  instance(node: string, { nodeSelector = null }: { readonly nodeSelector?: object | null } = {}): Isthmus {
    const user = `system:isthmus:${node}`;
    this.#api.tokens.set(`token-of-${node}`, user);
    // Exactly the rights of a site's Roles: code that sends a new request needs a new right in `neededRules`.
    this.#api.access.set(user, neededRules({ namespace: null, clusterNamespace: null, nodeSelector }));
    const kubeconfig = join(this.directory, `${node}.kubeconfig`);
    writeFileSync(kubeconfig, this.#api.kubeconfig(user));
    const isthmus = new Isthmus();
    isthmus.source = 'kubernetes';
    // Processes of one node share a directory: a restart after SIGKILL takes the Lease at once.
    const lockDirectory = join(this.directory, `lock-${node}`);
    Object.assign(isthmus.environment, {
      KUBECONFIG: kubeconfig,
      NODE_NAME: node,
      ISTHMUS_LOCK_DIR: lockDirectory,
    });
    this.#instances.push(isthmus);
    return isthmus;
  }

  /** In the order of the requests. */
  get instances(): readonly Isthmus[] {
    return this.#instances;
  }

  /** Counts of one instance, by verb and resource. */
  requestsOf(node: string): Record<string, number> {
    return this.#api.requests(`system:isthmus:${node}`);
  }

  addCluster({ name, networkId, address, port = 6443, floatingIp = false }: ClusterOptions): StoredObject {
    this.addKubeconfig(name, `https://${address}:${port}`);
    return this.#api.store.create({
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'OpenStackCluster',
      metadata: {
        name: `${name}-abcde`,
        namespace: NAMESPACE,
        labels: { 'cluster.x-k8s.io/cluster-name': name },
      },
      spec: {
        identityRef: { name: 'clouds', cloudName: 'default' },
        disableAPIServerFloatingIP: !floatingIp,
        apiServerPort: port,
        controlPlaneEndpoint: { host: address, port },
      },
      status: {
        ready: true,
        network: { id: networkId, name: 'tenant' },
        apiServerLoadBalancer: { id: 'lb', name: 'lb', ip: address, internalIP: address },
      },
    });
  }

  addKubeconfig(name: string, server: string): void {
    const text = kubeconfigText(name, server);
    this.#api.store.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: `${name}-kubeconfig`,
        namespace: NAMESPACE,
        labels: { 'cluster.x-k8s.io/cluster-name': name },
      },
      type: 'cluster.x-k8s.io/secret',
      data: { value: Buffer.from(text).toString('base64') },
    });
  }

  /** As the control plane provider does: writes another client certificate and the given server. */
  rotateKubeconfig(name: string, server: string, certificate = 'Uk9UQVRFRA=='): void {
    const text = kubeconfigText(name, server).replace('Q0VSVA==', certificate);
    this.#api.store.patch(
      { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: `${name}-kubeconfig` },
      { data: { value: Buffer.from(text).toString('base64') } },
    );
  }

  patchCluster(name: string, patch: object): void {
    this.#api.store.patch(
      {
        apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
        kind: 'OpenStackCluster',
        namespace: NAMESPACE,
        name: `${name}-abcde`,
      },
      patch,
    );
  }

  patchStatus(name: string, status: object): void {
    this.#api.store.patch(
      {
        apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
        kind: 'OpenStackCluster',
        namespace: NAMESPACE,
        name: `${name}-abcde`,
      },
      { status },
      'status',
    );
  }

  deleteCluster(name: string): void {
    this.#api.store.delete({
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'OpenStackCluster',
      namespace: NAMESPACE,
      name: `${name}-abcde`,
    });
  }

  addMachine(
    name: string,
    cluster: string,
    address: string,
    labels: Readonly<Record<string, string>>,
  ): StoredObject {
    return this.#api.store.create({
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

  labelMachine(name: string, labels: Readonly<Record<string, string | null>>): void {
    this.#api.store.patch({ ...MACHINE, name }, { metadata: { labels } });
  }

  deleteMachine(name: string): void {
    this.#api.store.delete({ ...MACHINE, name });
  }

  addListener(name: string, spec: object): StoredObject {
    return this.#api.store.create({ ...LISTENER, metadata: { name, namespace: NAMESPACE }, spec });
  }

  patchListener(name: string, spec: object): void {
    this.#api.store.patch({ ...LISTENER, name }, { spec });
  }

  deleteListener(name: string): void {
    this.#api.store.delete({ ...LISTENER, name });
  }

  /** The conditions of an AdditionalListener by type; undefined before they are written. */
  conditions(
    listener: string,
  ): Readonly<Record<string, { status: string; reason: string; message: string }>> {
    const { conditions = [] } = (this.get(LISTENER.apiVersion, LISTENER.kind, listener)?.status ?? {}) as {
      conditions?: { type: string; status: string; reason: string; message: string }[];
    };
    return Object.fromEntries(conditions.map((each) => [each.type, each]));
  }

  kubeconfig(name: string): string {
    const secret = this.get('v1', 'Secret', `${name}-kubeconfig`);
    const { value = '' } = (secret?.data ?? {}) as Record<string, string>;
    return Buffer.from(value, 'base64').toString();
  }

  get(apiVersion: string, kind: string, name: string): StoredObject | null {
    return this.#api.store.get({ apiVersion, kind, namespace: NAMESPACE, name });
  }

  names(apiVersion: string, kind: string): string[] {
    return this.#api.store
      .list({ apiVersion, kind, namespace: NAMESPACE })
      .map(({ metadata }) => metadata.name as string)
      .sort();
  }

  services(): string[] {
    return this.names('v1', 'Service');
  }

  slices(): string[] {
    return this.names('discovery.k8s.io/v1', 'EndpointSlice');
  }

  async stop(): Promise<void> {
    for (const instance of this.#instances.splice(0)) await instance.stop();
    await this.#api.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** As the kubeadm control plane provider writes it, with a comment that every rewrite must keep. */
export function kubeconfigText(name: string, server: string): string {
  return (
    `# made by the control plane provider\napiVersion: v1\nkind: Config\nclusters:\n- name: ${name}\n  cluster:\n` +
    `    certificate-authority-data: Q0E=\n    server: ${server}\ncontexts:\n- name: ${name}-admin@${name}\n  context:\n` +
    `    cluster: ${name}\n    user: ${name}-admin\ncurrent-context: ${name}-admin@${name}\nusers:\n- name: ${name}-admin\n` +
    '  user:\n    client-certificate-data: Q0VSVA==\n    client-key-data: S0VZ\n'
  );
}
