// A machine of a workload cluster: a program that listens in the tenant's network on the machine's own address, and the Machine object
// that Cluster API keeps for it.
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import type { Networks } from './networks.ts';
import { NAMESPACE } from './workload.ts';

export interface MachineOptions {
  /** The workload cluster of this machine. */
  readonly cluster: string;
  readonly name: string;
  /** On the tenant's network 10.0.0.x: .5 is the API server, .10 and up are the network nodes. */
  readonly address: string;
  /** Labels in addition to the label with the cluster's name. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly phase?: string;
  /** `ssh` sends `SSH-2.0-<name>` and then echoes, `echo` only echoes; without a value no program listens. */
  readonly serves?: 'ssh' | 'echo';
  readonly port?: number;
}

export const sshBanner = (name: string): string => `SSH-2.0-${name}`;

export class TenantMachine {
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

  /** Kills the program that listens; `start` restarts it. */
  async kill(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  /** Deletes the server: its address is unused afterwards. */
  async remove(): Promise<void> {
    await this.kill();
    this.#networks.removeMachine(this.options.cluster, this.options.address);
  }
}

/** As Cluster API writes it in this version; the status is written separately. */
export function machineObject(
  version: string,
  options: MachineOptions,
): { object: StoredObject; status: object } {
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
