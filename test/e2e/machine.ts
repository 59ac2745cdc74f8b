// A machine of a workload cluster: a program that listens in the tenant's network under an address of the machine's own, and the
// Machine object that Cluster API keeps of it.
import type { KubeObject } from '../fake-kube-api/kube-object.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import type { Networks } from './networks.ts';
import { NAMESPACE } from './workload.ts';

export interface MachineOptions {
  /** The workload cluster that it belongs to. */
  readonly cluster: string;
  readonly name: string;
  /** On the tenant's network, so 10.0.0.x; .5 is the API server's, .10 and up are the network nodes'. */
  readonly address: string;
  /** Beside the label with the cluster's name. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly phase?: string;
  /** `ssh` says `SSH-2.0-<name>` and then echoes, `echo` says nothing first; without it nobody listens there. */
  readonly serves?: 'ssh' | 'echo';
  readonly port?: number;
}

export const sshBanner = (name: string): string => `SSH-2.0-${name}`;

export class Machine {
  readonly name: string;
  readonly options: MachineOptions;
  readonly #networks: Networks;
  #server: NetnsServer | null = null;

  constructor(options: MachineOptions, networks: Networks) {
    this.name = options.name;
    this.options = options;
    this.#networks = networks;
    networks.addMachine(options.cluster, options.address);
  }

  async start(): Promise<void> {
    const { cluster, address, serves, port = 22, name } = this.options;
    if (serves === undefined) return;
    const mode =
      serves === 'ssh' ? ['banner', address, `${port}`, sshBanner(name)] : ['echo', address, `${port}`];
    this.#server = await NetnsServer.start(cluster, ...mode);
  }

  /** What listens there dies; `start` brings it back. */
  async kill(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  /** The server is deleted: its address is nobody's. */
  async remove(): Promise<void> {
    await this.kill();
    this.#networks.removeMachine(this.options.cluster, this.options.address);
  }
}

/** As Cluster API writes it in this version; the status is written apart. */
export function machineObject(
  version: string,
  options: MachineOptions,
): { object: KubeObject; status: object } {
  const { cluster, name, address, labels = {}, phase = 'Running' } = options;
  const group = 'infrastructure.cluster.x-k8s.io';
  const reference = version === 'v1beta1' ? { apiVersion: `${group}/v1beta1` } : { apiGroup: group };
  const object = {
    apiVersion: `cluster.x-k8s.io/${version}`,
    kind: 'Machine',
    metadata: { name, namespace: NAMESPACE, labels: { 'cluster.x-k8s.io/cluster-name': cluster, ...labels } },
    spec: {
      clusterName: cluster,
      bootstrap: { dataSecretName: `${name}-bootstrap` },
      infrastructureRef: { ...reference, kind: 'OpenStackMachine', name },
    },
  };
  return { object, status: { phase, addresses: [{ type: 'InternalIP', address }] } };
}
