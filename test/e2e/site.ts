// A whole site from real binaries on one machine: the management cluster, machines with clients and kube-proxy, network nodes with
// Isthmus, and workload clusters in tenants' networks with overlapping addresses.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '../../src/demo/management-api/kube-object.ts';
import { Client, type ProxyMode } from './client.ts';
import { INSTALLED, Instance, type Privileges } from './instance.ts';
import { ManagementCluster } from './management-cluster.ts';
import { MANAGEMENT_ADDRESS, Networks } from './networks.ts';
import { proxiedServer, Workload, type WorkloadOptions } from './workload.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLIENT_ADDRESSES: Readonly<Record<ProxyMode, string>> = {
  nftables: '10.250.0.11',
  iptables: '10.250.0.12',
};
const nodeAddress = (index: number): string => `10.250.0.${21 + index}`;

export interface SiteOptions {
  readonly modes?: readonly ProxyMode[];
  /** The network nodes, in order. */
  readonly nodes: readonly { readonly name: string; readonly privileges: Privileges }[];
  readonly definition?: KubeObject;
  readonly flags?: readonly string[];
}

export class Site {
  readonly networks = new Networks();
  readonly management = new ManagementCluster();
  readonly instances = new Map<string, Instance>();
  readonly clients = new Map<ProxyMode, Client>();
  readonly workloads = new Map<string, Workload>();
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-site-'));
  readonly #options: SiteOptions;

  private constructor(options: SiteOptions) {
    this.#options = options;
  }

  /** Everything but workload clusters; the instances are not started yet. */
  static async start(options: SiteOptions): Promise<Site> {
    const site = new Site(options);
    try {
      await site.#start();
    } catch (error) {
      await site.stop();
      throw error;
    }
    return site;
  }

  async #start(): Promise<void> {
    const { modes = ['nftables'], nodes, definition } = this.#options;
    mkdirSync(INSTALLED, { recursive: true });
    execFileSync('mount', ['--bind', ROOT, INSTALLED], { stdio: 'pipe' });
    const machines: Record<string, string> = {};
    for (const mode of modes) machines[`client-${mode}`] = CLIENT_ADDRESSES[mode];
    for (const [name, address] of Object.entries(machines)) this.networks.addHost(name, address);
    await this.management.start(machines, definition);
    for (const mode of modes)
      this.clients.set(
        mode,
        new Client({
          netns: `client-${mode}`,
          mode,
          directory: this.directory,
          managementKubeconfig: this.management.kubeconfigFile,
        }),
      );
    const { port, ca } = this.management.controlPlane;
    const token = await this.management.serviceAccountToken();
    for (const [index, { name, privileges }] of nodes.entries()) {
      const address = nodeAddress(index);
      this.networks.addHost(name, address);
      const instance = new Instance({
        node: name,
        address,
        privileges,
        netnsDirectory: this.networks.netnsDirectory(name),
        api: { host: MANAGEMENT_ADDRESS, port, ca, token },
        flags: this.#options.flags ?? [],
      });
      this.instances.set(name, instance);
    }
  }

  client(mode: ProxyMode = 'nftables'): Client {
    return this.clients.get(mode) as Client;
  }

  instance(node: string): Instance {
    return this.instances.get(node) as Instance;
  }

  workload(name: string): Workload {
    return this.workloads.get(name) as Workload;
  }

  /** A workload cluster that answers, on a network with a port on each of these nodes; the management cluster knows nothing yet. */
  async addWorkload(options: WorkloadOptions, nodes: readonly string[]): Promise<Workload> {
    const workload = new Workload(options);
    this.workloads.set(workload.name, workload);
    this.networks.addTenant(workload.name);
    for (const node of nodes) this.attach(workload, node);
    await workload.start();
    return workload;
  }

  attach(workload: Workload, node: string): void {
    const host = 10 + [...this.instances.keys()].indexOf(node);
    this.networks.attach(workload.name, node, workload.netns, host);
  }

  detach(workload: Workload, node: string): void {
    this.networks.detach(workload.name, node, workload.netns);
  }

  /** The kubeconfig in the management cluster, once it leads to the Service. */
  async proxiedKubeconfig(name: string, milliseconds = 60_000): Promise<string> {
    await this.until(
      `the kubeconfig of ${name} leads to its Service`,
      async () => (await this.management.kubeconfig(name)).includes(`server: ${proxiedServer(name)}\n`),
      milliseconds,
    );
    return this.management.kubeconfig(name);
  }

  /** Until the condition holds; the time that it took in seconds. What failed is told with the last words of those concerned. */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    milliseconds = 30_000,
  ): Promise<number> {
    const started = performance.now();
    const elapsed = () => performance.now() - started;
    for (;;) {
      if (await condition()) return elapsed() / 1000;
      if (elapsed() > milliseconds)
        throw new Error(`waited ${milliseconds} ms until ${what}\n${this.lastLines()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** What every Isthmus said last: in this suite it is the one that is judged. */
  lastLines(): string {
    const running = [...this.instances.values()].filter((each) => each.wasStarted);
    return running.map((each) => each.process.lastLines(12)).join('\n');
  }

  async stop(): Promise<void> {
    for (const each of this.instances.values()) await each.stop();
    for (const each of this.clients.values()) await each.stop();
    for (const each of this.workloads.values()) await each.stop();
    await this.management.stop();
    this.networks.remove();
    rmSync(this.directory, { recursive: true, force: true });
    execFileSync('umount', ['--lazy', INSTALLED], { stdio: 'pipe' });
  }
}
