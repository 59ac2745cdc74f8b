// A workload cluster in a tenant's network, with the certificate authority and kubeconfig of its control plane provider: either a real
// kube-apiserver with its own etcd, or a TLS server that answers with its name.
import { randomUUID } from 'node:crypto';
import type { Certificate } from '../support/certificates.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { Authority } from './authority.ts';
import { ControlPlane } from './control-plane.ts';
import { TENANT_ADDRESS } from './networks.ts';

export const NAMESPACE = 'magnum-system';
export const DIRECT_SERVER = `https://${TENANT_ADDRESS}:6443`;
export const proxiedServer = (name: string): string => `https://${name}.${NAMESPACE}:6443`;

export interface WorkloadOptions {
  readonly name: string;
  /** `qdhcp` (ML2/OVS) or `ovnmeta` (OVN). */
  readonly prefix?: 'qdhcp' | 'ovnmeta';
  /** A real API server; otherwise a TLS server. */
  readonly real?: boolean;
  /** Names in the certificate besides those that Magnum's driver requests. */
  readonly names?: readonly string[];
}

export class Workload {
  readonly name: string;
  readonly networkId = randomUUID();
  readonly netns: string;
  readonly authority: Authority;
  readonly certificate: Certificate;
  readonly #real: boolean;
  #controlPlane: ControlPlane | null = null;
  #server: NetnsServer | null = null;

  constructor({ name, prefix = 'qdhcp', real = false, names = [] }: WorkloadOptions) {
    this.name = name;
    this.netns = `${prefix}-${this.networkId}`;
    this.#real = real;
    this.authority = new Authority(`${name}-ca`);
    // The SANs that Magnum's driver requests, and the address for the API server's own clients.
    this.certificate = this.authority.issue('/CN=kube-apiserver', [
      name,
      `${name}.${NAMESPACE}`,
      `${name}.${NAMESPACE}.svc`,
      `${name}.${NAMESPACE}.svc.cluster.local`,
      TENANT_ADDRESS,
      ...names,
    ]);
  }

  /** The netns of its machine has the cluster's name. */
  async start(): Promise<void> {
    const { name, certificate, authority } = this;
    if (this.#real) {
      this.#controlPlane = new ControlPlane({
        label: name,
        netns: name,
        address: TENANT_ADDRESS,
        port: 6443,
        certificate,
        ca: authority.cert,
        clientCa: authority.certFile,
        serviceRange: '10.97.0.0/16',
      });
      await this.#controlPlane.start();
      return;
    }
    const { certFile, keyFile } = certificate;
    this.#server = await NetnsServer.start(name, 'https', TENANT_ADDRESS, '6443', name, certFile, keyFile);
  }

  get controlPlane(): ControlPlane {
    if (this.#controlPlane === null) throw new Error(`${this.name} has no real API server`);
    return this.#controlPlane;
  }

  /** Kills its API server; `start` restarts it, and `controlPlane.startApiServer` restarts a real one. */
  async kill(): Promise<void> {
    await this.#server?.stop();
    await this.#controlPlane?.stopApiServer();
  }

  async revive(): Promise<void> {
    if (this.#controlPlane === null) await this.start();
    else await this.#controlPlane.startApiServer();
  }

  /** As the kubeadm control plane provider writes it, with a new admin certificate each time. */
  kubeconfig(server = DIRECT_SERVER): string {
    const { name } = this;
    const admin = this.authority.issue('/O=system:masters/CN=kubernetes-admin');
    const base64 = (pem: Buffer) => pem.toString('base64');
    return (
      `# made by the control plane provider\napiVersion: v1\nkind: Config\nclusters:\n- name: ${name}\n  cluster:\n` +
      `    certificate-authority-data: ${base64(this.authority.cert)}\n    server: ${server}\n` +
      `contexts:\n- name: ${name}-admin@${name}\n  context:\n    cluster: ${name}\n    user: ${name}-admin\n` +
      `current-context: ${name}-admin@${name}\nusers:\n- name: ${name}-admin\n  user:\n` +
      `    client-certificate-data: ${base64(admin.cert)}\n    client-key-data: ${base64(admin.key)}\n`
    );
  }

  lastLines(): string {
    return this.#controlPlane?.lastLines() ?? '';
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    await this.#controlPlane?.stop();
  }
}
