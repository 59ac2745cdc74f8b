// A kubelet: its configuration, its certificate, and its process on a node.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Authority } from '../e2e/authority.ts';
import { DNS_SERVICE } from '../e2e/client.ts';
import { componentCommand } from '../e2e/component.ts';
import type { ControlPlane } from '../e2e/control-plane.ts';
import { SOCKET } from './container-runtime.ts';
import type { NodeProcess, RealNode } from './real-node.ts';

const HOME = '/var/lib/kubelet';
/** The label of network nodes, as in docs/how-to/install/kubernetes.md. */
export const NETWORK_NODE = 'network-node=enabled';

/** What differs from the defaults: cgroup v1 without swap control, no eviction, and nothing that belongs to the whole machine. */
const configuration: object = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  containerRuntimeEndpoint: `unix://${SOCKET}`,
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  failSwapOn: false,
  oomScoreAdj: 0,
  protectKernelDefaults: true,
  makeIPTablesUtilChains: false,
  evictionHard: {
    'memory.available': '0%',
    'nodefs.available': '0%',
    'nodefs.inodesFree': '0%',
    'imagefs.available': '0%',
    'imagefs.inodesFree': '0%',
  },
  imageGCHighThresholdPercent: 100,
  clusterDNS: [DNS_SERVICE],
  clusterDomain: 'cluster.local',
  resolvConf: `${HOME}/resolv.conf`,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: `${HOME}/ca.crt` },
  },
  authorization: { mode: 'Webhook' },
};

export class Kubelet {
  readonly #node: RealNode;
  #process: NodeProcess | null = null;

  constructor(node: RealNode, controlPlane: ControlPlane, authority: Authority) {
    this.#node = node;
    const at = (file: string) => join(node.disk, 'lib', 'kubelet', file);
    mkdirSync(at('seccomp'), { recursive: true });
    const { cert, key } = authority.issue(`/O=system:nodes/CN=system:node:${node.name}`);
    const encoded = (pem: Buffer) => pem.toString('base64');
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'c',
          cluster: { server: controlPlane.url, 'certificate-authority-data': encoded(controlPlane.ca) },
        },
      ],
      users: [
        { name: 'u', user: { 'client-certificate-data': encoded(cert), 'client-key-data': encoded(key) } },
      ],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    writeFileSync(at('kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
    writeFileSync(at('config.yaml'), JSON.stringify(configuration));
    writeFileSync(at('resolv.conf'), 'nameserver 192.0.2.53\n');
    copyFileSync(authority.certFile, at('ca.crt'));
  }

  start(): void {
    const { name, address } = this.#node;
    const [command, args] = componentCommand('kubelet', [
      `--config=${HOME}/config.yaml`,
      `--kubeconfig=${HOME}/kubeconfig`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
      `--node-labels=${NETWORK_NODE}`,
      '--v=2',
    ]);
    this.#process = this.#node.start('kubelet', command, ...args);
  }

  get process(): NodeProcess {
    if (this.#process === null) throw new Error('the kubelet was not started');
    return this.#process;
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.#process?.stop(signal);
  }
}
