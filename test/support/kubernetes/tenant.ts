// The objects of one tenant in its own Kubernetes namespace, written with that tenant's rights.

import type { AdminStore } from '../../fake-kube-api/management-api.ts';
import type { StoredObject } from '../../fake-kube-api/stored-object.ts';
import { ADDRESS } from '../two-clusters.ts';
import { kubeconfigText } from './management.ts';

const CLUSTER = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'OpenStackCluster',
} as const;
const LISTENER = { apiVersion: 'isthmus.dev/v1alpha1', kind: 'AdditionalListener' } as const;

export class Tenant {
  readonly namespace: string;
  readonly #store: AdminStore;

  constructor(store: AdminStore, namespace: string) {
    this.#store = store;
    this.namespace = namespace;
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  }

  /** An OpenStackCluster `<object>` with the label `<name>`, and a kubeconfig of that name. */
  addCluster(object: string, name: string, networkId: string): void {
    const { namespace } = this;
    this.#store.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: `${name}-kubeconfig`,
        namespace,
        labels: { 'cluster.x-k8s.io/cluster-name': name },
      },
      type: 'cluster.x-k8s.io/secret',
      data: { value: Buffer.from(kubeconfigText(name, `https://${ADDRESS}:6443`)).toString('base64') },
    });
    this.#store.create({
      ...CLUSTER,
      metadata: { name: object, namespace, labels: { 'cluster.x-k8s.io/cluster-name': name } },
      spec: {
        identityRef: { name: 'clouds', cloudName: 'default' },
        disableAPIServerFloatingIP: true,
        apiServerPort: 6443,
        controlPlaneEndpoint: { host: ADDRESS, port: 6443 },
      },
      status: this.statusOf(networkId),
    });
  }

  statusOf(networkId: string): object {
    return {
      ready: true,
      network: { id: networkId, name: 'tenant' },
      apiServerLoadBalancer: { id: 'lb', name: 'lb', ip: ADDRESS, internalIP: ADDRESS },
    };
  }

  relabel(object: string, name: string): void {
    const labels = { 'cluster.x-k8s.io/cluster-name': name };
    this.#store.patch({ ...CLUSTER, namespace: this.namespace, name: object }, { metadata: { labels } });
  }

  patchCluster(object: string, patch: object): void {
    this.#store.patch({ ...CLUSTER, namespace: this.namespace, name: object }, patch);
  }

  patchStatus(object: string, status: object): void {
    this.#store.patch({ ...CLUSTER, namespace: this.namespace, name: object }, { status }, 'status');
  }

  deleteCluster(object: string): void {
    this.#store.delete({ ...CLUSTER, namespace: this.namespace, name: object });
  }

  addListener(name: string, spec: object): void {
    this.#store.create({ ...LISTENER, metadata: { name, namespace: this.namespace }, spec });
  }

  /** The conditions of an AdditionalListener, by type. */
  conditions(name: string): Readonly<Record<string, string>> {
    const found = this.#store.get({ ...LISTENER, namespace: this.namespace, name });
    const { conditions = [] } = (found?.status ?? {}) as {
      conditions?: { type: string; message: string }[];
    };
    return Object.fromEntries(conditions.map(({ type, message }) => [type, message]));
  }

  kubeconfig(name: string): StoredObject | null {
    const { namespace } = this;
    return this.#store.get({ apiVersion: 'v1', kind: 'Secret', namespace, name: `${name}-kubeconfig` });
  }

  /** `<reason>: <message>` of each Event on an object of this tenant. */
  events(object: string): string[] {
    return this.#store
      .list({ apiVersion: 'v1', kind: 'Event', namespace: this.namespace })
      .filter(({ involvedObject }) => (involvedObject as { name?: string }).name === object)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }
}
