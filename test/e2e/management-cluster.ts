// The management cluster of a site: a real control plane, CoreDNS, the definitions of Cluster API, the rights that deploy/ ships, and
// the objects that Cluster API and its providers would write.
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import {
  machineDefinition,
  openStackClusterDefinition,
} from '../fake-kube-api/types/cluster-api-definitions.ts';
import type { Answer, RawClient } from '../kube-api/raw-client.ts';
import { expectStatus } from '../kube-api/suite.ts';
import { until } from '../support/tcp.ts';
import { type AuditedRequest, auditedRequests, ISTHMUS_USER } from './audit.ts';
import type { Authority } from './authority.ts';
import { DNS_SERVICE } from './client.ts';
import { Component, componentCommand } from './component.ts';
import type { PodTemplate } from './container.ts';
import { ControlPlane } from './control-plane.ts';
import { type MachineOptions, machineObject } from './machine.ts';
import { MANAGEMENT_ADDRESS, TENANT_ADDRESS } from './networks.ts';
import { NAMESPACE, type Workload } from './workload.ts';

/** The old proxy with administrator rights, as in all its installations. */
export const UPSTREAM_USER = 'upstream';

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
/** The default rights of an instance. */
const RIGHTS = ['examples/kubernetes-source/rbac.yaml'];
const MACHINES = '/apis/cluster.x-k8s.io';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CLUSTERS = `/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/${NAMESPACE}/openstackclusters`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const CORE = `/api/v1/namespaces/${NAMESPACE}`;

/** The controllers that act on objects of Isthmus. */
const CONTROLLERS = [
  'garbage-collector-controller',
  'namespace-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'serviceaccount-controller',
];
/** The controllers that Pods and nodes need in addition. */
const NODE_CONTROLLERS = [
  'daemonset-controller',
  'deployment-controller',
  'replicaset-controller',
  'job-controller',
  'disruption-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'pod-garbage-collector-controller',
  'root-ca-certificate-publisher-controller',
  'ttl-after-finished-controller',
];

export interface SliceView {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly ready: boolean;
}

export interface ManagementOptions {
  /** The machines with a kube-proxy, with their addresses. */
  readonly machines: Readonly<Record<string, string>>;
  readonly definition?: StoredObject | undefined;
  readonly machineDefinition?: StoredObject | undefined;
  /** Files or directories of deploy/. */
  readonly manifests?: readonly string[] | undefined;
}

export class ManagementCluster {
  readonly controlPlane: ControlPlane;
  readonly kubeconfigFile: string;
  readonly #hasNodes: boolean;
  #client: RawClient | null = null;
  #dns: Component | null = null;

  /** With `nodeAuthority`, machines may run a kubelet. */
  constructor({ nodeAuthority }: { readonly nodeAuthority?: Authority } = {}) {
    this.controlPlane = new ControlPlane({
      address: MANAGEMENT_ADDRESS,
      label: 'management',
      users: [UPSTREAM_USER],
      nodeAuthority,
    });
    this.kubeconfigFile = join(this.controlPlane.directory, 'admin.kubeconfig');
    this.#hasNodes = nodeAuthority !== undefined;
  }

  get client(): RawClient {
    if (this.#client === null) throw new Error('the management cluster was not started');
    return this.#client;
  }

  async start({
    machines,
    definition = openStackClusterDefinition({ served: ['v1beta1'] }),
    machineDefinition: machine = machineDefinition({ served: ['v1beta1'] }),
    manifests = RIGHTS,
  }: ManagementOptions): Promise<void> {
    await this.controlPlane.start();
    this.controlPlane.startControllers(...CONTROLLERS, ...(this.#hasNodes ? NODE_CONTROLLERS : []));
    if (this.#hasNodes) this.controlPlane.startScheduler();
    this.#client = this.controlPlane.client();
    writeFileSync(this.kubeconfigFile, this.controlPlane.kubeconfig(), { mode: 0o600 });
    const { client } = this;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
    expectStatus(await client.post('/api/v1/namespaces', namespace), 201);
    for (const each of [definition, machine]) expectStatus(await client.post(DEFINITIONS, each), 201);
    for (const [name, address] of Object.entries(machines)) {
      expectStatus(
        await client.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } }),
        201,
      );
      const status = { addresses: [{ type: 'InternalIP', address }] };
      expectStatus(await client.patch(`/api/v1/nodes/${name}/status`, { status }), 200);
    }
    await this.#startDns();
    await this.apply(...manifests);
    await until('CoreDNS is ready', isDnsReady, 120_000);
    await until(
      'OpenStackClusters are served',
      async () => (await client.get(CLUSTERS)).status === 200,
      120_000,
    );
  }

  /** Applies files or directories of deploy/ unchanged, and waits until their definitions are established. */
  async apply(...manifests: readonly string[]): Promise<void> {
    for (const each of manifests) {
      const path = join(DEPLOY, each);
      if (!existsSync(path)) throw new Error(`there is no ${path}`);
      await this.kubectl('apply', '-f', path);
    }
    await this.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
  }

  /** The Pod template of our DaemonSet. There is no kubelet: only `Instance` starts such a Pod, from an image. */
  async podTemplate(daemonSet: string): Promise<PodTemplate> {
    const path = `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets/${daemonSet}`;
    return expectStatus(await this.client.get(path), 200).body.spec.template as PodTemplate;
  }

  /** Requests of Isthmus that were always refused: a verb missing in deploy/. An API server refuses some requests just after its start. */
  refusals(): string[] {
    if (!existsSync(this.controlPlane.auditLog)) return [];
    const what = ({ verb, resource }: AuditedRequest) => `${verb} ${resource}`;
    const asked = auditedRequests(this.controlPlane.auditLog).filter(({ user }) => user === ISTHMUS_USER);
    const granted = new Set(asked.filter(({ code }) => code !== 403).map(what));
    return [...new Set(asked.filter(({ code }) => code === 403).map(what))].filter(
      (each) => !granted.has(each),
    );
  }

  /** The Machine object, in the preferred version of the API server. */
  async addMachine(options: MachineOptions): Promise<void> {
    const group = expectStatus(await this.client.get(MACHINES), 200).body;
    const { version } = group.preferredVersion as { version: string };
    const path = `${MACHINES}/${version}/namespaces/${NAMESPACE}/machines`;
    const { object, status } = machineObject(version, options);
    expectStatus(await this.client.post(path, object), 201);
    expectStatus(await this.client.patch(`${path}/${options.name}/status`, { status }), 200);
  }

  /** Changes labels of a Machine; null removes a label. */
  async labelMachine(name: string, labels: Readonly<Record<string, string | null>>): Promise<void> {
    const given = Object.entries(labels).map(([key, value]) =>
      value === null ? `${key}-` : `${key}=${value}`,
    );
    await this.kubectl('label', 'machines', name, '-n', NAMESPACE, '--overwrite', ...given);
  }

  async deleteMachine(name: string): Promise<void> {
    await this.kubectl('delete', 'machines', name, '-n', NAMESPACE, '--wait=false');
  }

  /** A kubeconfig that gives the old proxy all rights. */
  async upstreamKubeconfig(): Promise<string> {
    const file = join(this.controlPlane.directory, 'upstream.kubeconfig');
    writeFileSync(file, this.controlPlane.kubeconfig(UPSTREAM_USER), { mode: 0o600 });
    const binding = ['clusterrolebinding', UPSTREAM_USER, '--clusterrole=cluster-admin'];
    await this.kubectl('create', ...binding, `--user=${UPSTREAM_USER}`);
    return file;
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    const cache = `--cache-dir=${join(this.controlPlane.directory, 'kubectl')}`;
    const [command, all] = componentCommand('kubectl', [
      `--kubeconfig=${this.kubeconfigFile}`,
      cache,
      ...args,
    ]);
    try {
      const { stdout } = await promisify(execFile)(command, all, { timeout: 180_000, maxBuffer: 64 << 20 });
      return stdout.trim();
    } catch (error) {
      throw new Error(`kubectl ${args.join(' ')}: ${(error as { stderr?: string }).stderr ?? error}`);
    }
  }

  /** A token of the ServiceAccount that deploy/ ships, as kubelet would request it. */
  async serviceAccountToken(): Promise<string> {
    const path = `${CORE}/serviceaccounts/isthmus/token`;
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    return expectStatus(await this.client.post(path, request), 201).body.status.token as string;
  }

  /** The objects of Cluster API and the OpenStack provider for a complete cluster. */
  async addCluster(workload: Workload, options: { readonly floatingIp?: boolean } = {}): Promise<void> {
    await this.addKubeconfig(workload.name, workload.kubeconfig());
    await this.addClusterObject(workload.name, workload.networkId, options);
  }

  async addClusterObject(
    name: string,
    networkId: string,
    { floatingIp = false }: { readonly floatingIp?: boolean } = {},
  ): Promise<void> {
    const { client } = this;
    const object = {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'OpenStackCluster',
      metadata: { name: objectName(name), labels: { 'cluster.x-k8s.io/cluster-name': name } },
      spec: {
        identityRef: { name: 'clouds', cloudName: 'default' },
        disableAPIServerFloatingIP: !floatingIp,
        apiServerPort: 6443,
        controlPlaneEndpoint: { host: TENANT_ADDRESS, port: 6443 },
      },
    };
    expectStatus(await client.post(CLUSTERS, object), 201);
    await this.setClusterStatus(name, networkId);
  }

  async setClusterStatus(name: string, networkId: string): Promise<void> {
    const status = {
      ready: true,
      network: { id: networkId, name: 'tenant' },
      apiServerLoadBalancer: { id: 'lb', name: 'lb', ip: TENANT_ADDRESS, internalIP: TENANT_ADDRESS },
    };
    expectStatus(await this.client.patch(`${CLUSTERS}/${objectName(name)}/status`, { status }), 200);
  }

  async addKubeconfig(name: string, text: string): Promise<void> {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-kubeconfig`, labels: { 'cluster.x-k8s.io/cluster-name': name } },
      type: 'cluster.x-k8s.io/secret',
      data: { value: Buffer.from(text).toString('base64') },
    };
    expectStatus(await this.client.post(`${CORE}/secrets`, secret), 201);
  }

  async patchCluster(name: string, patch: object): Promise<void> {
    expectStatus(await this.client.patch(`${CLUSTERS}/${objectName(name)}`, patch), 200);
  }

  async deleteCluster(name: string): Promise<void> {
    expectStatus(await this.client.delete(`${CLUSTERS}/${objectName(name)}`), 200);
  }

  /** As after `clusterctl move` and most backups: user-written fields survive, with a new uid and without a status. */
  async moveCluster(name: string): Promise<void> {
    const path = `${CLUSTERS}/${objectName(name)}`;
    const { apiVersion, kind, metadata, spec } = expectStatus(await this.client.get(path), 200).body;
    expectStatus(await this.client.delete(path, { propagationPolicy: 'Orphan' }), 200);
    await until('the old one is gone', async () => (await this.client.get(path)).status === 404, 120_000);
    const { labels } = metadata;
    const moved = { apiVersion, kind, metadata: { name: metadata.name, labels }, spec };
    expectStatus(await this.client.post(CLUSTERS, moved), 201);
  }

  async kubeconfig(name: string): Promise<string> {
    const secret = expectStatus(await this.client.get(`${CORE}/secrets/${name}-kubeconfig`), 200);
    return Buffer.from(secret.body.data.value as string, 'base64').toString();
  }

  /** A change by another writer, as the control plane provider renews it: read, change, write back. */
  async changeKubeconfig(name: string, change: (text: string) => string): Promise<void> {
    const value = Buffer.from(change(await this.kubeconfig(name))).toString('base64');
    expectStatus(await this.client.patch(`${CORE}/secrets/${name}-kubeconfig`, { data: { value } }), 200);
  }

  async service(name: string): Promise<Answer['body'] | null> {
    const answer = await this.client.get(`${CORE}/services/${name}`);
    return answer.status === 404 ? null : expectStatus(answer, 200).body;
  }

  async names(kind: 'services' | 'secrets' | 'endpointslices' | 'leases'): Promise<string[]> {
    const groups: Record<string, string> = {
      endpointslices: SLICES,
      leases: `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`,
    };
    const { body } = expectStatus(await this.client.get(groups[kind] ?? `${CORE}/${kind}`), 200);
    return body.items.map(({ metadata }: StoredObject) => metadata.name as string).sort();
  }

  async slices(cluster: string): Promise<SliceView[]> {
    const query = `?labelSelector=kubernetes.io/service-name%3D${cluster}`;
    const { body } = expectStatus(await this.client.get(`${SLICES}${query}`), 200);
    // biome-ignore lint/suspicious/noExplicitAny: as the API server has it
    return body.items.map(({ metadata, endpoints }: any) => ({
      name: metadata.name,
      addresses: endpoints?.[0]?.addresses ?? [],
      ready: endpoints?.[0]?.conditions?.ready === true,
    }));
  }

  /** Reasons of the Events on a cluster, oldest first. */
  async events(name: string): Promise<string[]> {
    const query = `?fieldSelector=involvedObject.name%3D${objectName(name)}`;
    const { body } = expectStatus(await this.client.get(`${CORE}/events${query}`), 200);
    // biome-ignore lint/suspicious/noExplicitAny: as the API server has it
    const items = body.items as any[];
    const at = (event: { metadata: { creationTimestamp: string } }) => event.metadata.creationTimestamp;
    return items.sort((a, b) => at(a).localeCompare(at(b))).map(({ reason }) => reason as string);
  }

  async stop(): Promise<void> {
    await this.#dns?.stop('SIGKILL');
    this.#client?.close();
    await this.controlPlane.stop();
  }

  get #corefile(): string {
    return join(this.controlPlane.directory, 'Corefile');
  }

  async restartDns(): Promise<void> {
    await this.#dns?.stop('SIGKILL');
    this.#dns = new Component('coredns', ['-conf', this.#corefile]);
  }

  async #startDns(): Promise<void> {
    writeFileSync(
      this.#corefile,
      `.:53 {
  bind ${MANAGEMENT_ADDRESS}
  errors
  log
  ready ${MANAGEMENT_ADDRESS}:8181
  kubernetes cluster.local {
    kubeconfig ${this.kubeconfigFile}
  }
}
`,
    );
    this.#dns = new Component('coredns', ['-conf', this.#corefile]);
    const ports = ['UDP', 'TCP'].map((protocol) => ({
      name: `dns-${protocol.toLowerCase()}`,
      port: 53,
      protocol,
    }));
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns' },
      spec: { clusterIP: DNS_SERVICE, ports },
    };
    expectStatus(await this.client.post('/api/v1/namespaces/kube-system/services', service), 201);
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'kube-dns-1', labels: { 'kubernetes.io/service-name': 'kube-dns' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [MANAGEMENT_ADDRESS], conditions: { ready: true } }],
      ports,
    };
    const slices = '/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices';
    expectStatus(await this.client.post(slices, slice), 201);
  }
}

function isDnsReady(): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(`http://${MANAGEMENT_ADDRESS}:8181/ready`, { timeout: 5000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
  });
}

/** Cluster API adds a suffix to the name of the infrastructure object: it differs from the cluster's name. */
export const objectName = (cluster: string): string => `${cluster}-x7k2p`;
