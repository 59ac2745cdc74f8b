// A whole site from real binaries on one machine: the management cluster, machines with clients and kube-proxy, network nodes with
// Isthmus, and workload clusters in tenants' networks with overlapping addresses.
//
//   const site = await Site.start({ nodes: [{ name: 'net-1', privileges: 'pod' }] });   everything, no instance started yet
//   const alpha = await site.addWorkload({ name: 'alpha', real: true }, ['net-1']);     a cluster on a network with a port on net-1
//   await site.management.addCluster(alpha);                                            what Cluster API writes about it
//   site.instance('net-1').start('--flag', 'value');                                    Isthmus there; .stop(), .ask('status'), .log()
//   await site.client().kubectl(await site.proxiedKubeconfig('alpha'), 'get', 'ns');    by name and Service, from a client's machine
//
// To extend it:
//   machines     await site.addMachine({ cluster: 'alpha', name: 'bootstrap', address: '10.0.0.31', labels, serves: 'ssh' })
//                an SSH banner or an echo in the tenant's network, and its Machine; management.labelMachine(), .deleteMachine()
//   definitions  Site.start({ definition, machineDefinition: realDefinition('machines-cluster-api-1.11.yaml') })
//   manifests    Site.start({ manifests: ['manifests/isthmus.yaml', 'crds'] }), or management.apply('examples/…') later: paths below
//                deploy/, through kubectl; `manifests` replaces the default rights of an instance
//   an image     nodes: [{ name: 'net-1', privileges: 'pod', image: { rootfs, pod: await management.podTemplate('isthmus'), seccomp } }],
//                or site.useImage('net-1', image) once the site runs: a root filesystem directory with the DaemonSet's exact user,
//                capabilities, seccomp and mounts (container.ts); `containersMissing()` returns why this machine cannot run it
//   waiting      await site.until('what is awaited', condition): never a sleep; a failure shows the last log lines of every Isthmus
// `stop` removes everything, and fails if Isthmus sent a request that the manifests do not allow.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { Client, type ProxyMode } from './client.ts';
import { anyUnexpectedExit, lastLogLines } from './component.ts';
import { type Image, INSTALLED, Instance, type InstanceOptions, type Privileges } from './instance.ts';
import { type MachineOptions, TenantMachine } from './machine.ts';
import { ManagementCluster } from './management-cluster.ts';
import { MANAGEMENT_ADDRESS, Networks } from './networks.ts';
import { proxiedServer, Workload, type WorkloadOptions } from './workload.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLIENT_ADDRESSES: Readonly<Record<ProxyMode, string>> = {
  nftables: '10.250.0.11',
  iptables: '10.250.0.12',
};
const nodeAddress = (index: number): string => `10.250.0.${21 + index}`;

interface NetworkNode {
  readonly name: string;
  readonly privileges: Privileges;
  readonly image?: Image;
}

/** Both kinds of installation of Isthmus. */
const USUAL_NODES: readonly NetworkNode[] = [
  { name: 'net-1', privileges: 'pod' },
  { name: 'net-2', privileges: 'systemd' },
];

export interface SiteOptions {
  /** nftables only by default. */
  readonly modes?: readonly ProxyMode[];
  /** The network nodes, in order; by default net-1 as a Pod and net-2 as a systemd unit. */
  readonly nodes?: readonly NetworkNode[];
  /** The definitions of OpenStackCluster and Machine; our reduced definitions by default. */
  readonly definition?: StoredObject | undefined;
  readonly machineDefinition?: StoredObject | undefined;
  /** Files or directories of deploy/, including the rights of an instance; only the rights by default. */
  readonly manifests?: readonly string[];
  readonly flags?: readonly string[];
}

export class Site {
  readonly networks = new Networks();
  readonly management = new ManagementCluster();
  readonly instances = new Map<string, Instance>();
  readonly clients = new Map<ProxyMode, Client>();
  readonly workloads = new Map<string, Workload>();
  readonly machines = new Map<string, TenantMachine>();
  readonly #instanceOptions = new Map<string, InstanceOptions>();
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-site-'));
  readonly #options: SiteOptions;

  private constructor(options: SiteOptions) {
    this.#options = options;
  }

  /** Starts everything except workload clusters; the instances are not started yet. */
  static async start(options: SiteOptions = {}): Promise<Site> {
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
    const {
      modes = ['nftables'],
      nodes = USUAL_NODES,
      definition,
      machineDefinition,
      manifests,
    } = this.#options;
    mkdirSync(INSTALLED, { recursive: true });
    execFileSync('mount', ['--bind', ROOT, INSTALLED], { stdio: 'pipe' });
    const machines: Record<string, string> = {};
    for (const mode of modes) machines[`client-${mode}`] = CLIENT_ADDRESSES[mode];
    for (const [name, address] of Object.entries(machines)) this.networks.addHost(name, address);
    await this.management.start({ machines, definition, machineDefinition, manifests });
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
    for (const [index, { name, privileges, image }] of nodes.entries()) {
      const address = nodeAddress(index);
      this.networks.addHost(name, address);
      const options = {
        node: name,
        address,
        privileges,
        ...(image !== undefined && { image }),
        netnsDirectory: this.networks.netnsDirectory(name),
        api: { host: MANAGEMENT_ADDRESS, port, ca, token },
        flags: this.#options.flags ?? [],
      };
      this.#instanceOptions.set(name, options);
      this.instances.set(name, new Instance(options));
    }
    for (const client of this.clients.values())
      await this.until(`${client.mode} rules lead to CoreDNS`, () => client.leadsTo(MANAGEMENT_ADDRESS, 53));
  }

  /** From now on this node's Isthmus runs from a root filesystem, in a container according to the Pod template. */
  useImage(node: string, image: Image): void {
    const options = this.#instanceOptions.get(node) as InstanceOptions;
    if (this.instance(node).wasStarted) throw new Error(`${node} runs already`);
    this.instances.set(node, new Instance({ ...options, image }));
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

  /** A running workload cluster on a network with a port on each of these nodes; the management cluster has no object for it yet. */
  async addWorkload(options: WorkloadOptions, nodes: readonly string[]): Promise<Workload> {
    const workload = new Workload(options);
    this.workloads.set(workload.name, workload);
    this.networks.addTenant(workload.name);
    for (const node of nodes) this.attach(workload, node);
    await workload.start();
    return workload;
  }

  /** A machine of an existing workload cluster: its server program and its Machine object. */
  async addMachine(options: MachineOptions): Promise<TenantMachine> {
    const machine = new TenantMachine(options, this.networks);
    this.machines.set(machine.name, machine);
    await machine.start();
    await this.management.addMachine(options);
    return machine;
  }

  attach(workload: Workload, node: string): void {
    const host = 10 + [...this.instances.keys()].indexOf(node);
    this.networks.attach(workload.name, node, workload.netns, host);
  }

  detach(workload: Workload, node: string): void {
    this.networks.detach(workload.name, node, workload.netns);
  }

  /** The kubeconfig in the management cluster, once it leads to the Service. */
  async proxiedKubeconfig(name: string, milliseconds = 180_000): Promise<string> {
    await this.until(
      `the kubeconfig of ${name} leads to its Service`,
      async () => (await this.management.kubeconfig(name)).includes(`server: ${proxiedServer(name)}\n`),
      milliseconds,
    );
    return this.management.kubeconfig(name);
  }

  /** Waits until the condition holds and returns the seconds. A failure message includes the last log lines of the relevant processes. */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    milliseconds = 120_000,
  ): Promise<number> {
    const started = performance.now();
    const elapsed = () => performance.now() - started;
    for (;;) {
      if (await condition()) return elapsed() / 1000;
      if (elapsed() > milliseconds || anyUnexpectedExit())
        throw new Error(`waited ${Math.round(elapsed())} ms until ${what}\n${lastLogLines()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Stops each part, even if another part fails: the next site needs the same names and addresses. */
  async stop(): Promise<void> {
    const refused = this.management.refusals();
    const problems: unknown[] = [];
    const attempt = async (act: () => unknown) => {
      try {
        await act();
      } catch (error) {
        problems.push(error);
      }
    };
    for (const each of this.instances.values()) await attempt(() => each.remove());
    for (const each of this.clients.values()) await attempt(() => each.stop());
    for (const each of this.machines.values()) await attempt(() => each.kill());
    for (const each of this.workloads.values()) await attempt(() => each.stop());
    await attempt(() => this.management.stop());
    await attempt(() => this.networks.remove());
    await attempt(() => rmSync(this.directory, { recursive: true, force: true }));
    await attempt(() => execFileSync('umount', ['--lazy', INSTALLED], { stdio: 'pipe' }));
    if (problems.length > 0)
      throw new AggregateError(problems, `the site did not go: ${problems.join('; ')}`);
    if (refused.length > 0)
      throw new Error(`deploy/ does not allow what Isthmus asked for: ${refused.join(', ')}`);
  }
}
