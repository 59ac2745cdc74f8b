// Two network nodes with a real kubelet and containerd, the management cluster around them, and a machine with clients.
//
//   const bed = await Bed.start();                            nodes are Ready; the image is on both; no release is installed
//   await bed.addWorkload('alpha', ['net-1', 'net-2']);       a cluster on a network with a port on these nodes
//   await bed.install({ handover: true });                    Helm, as docs/how-to/install/kubernetes.md says, until all Pods are ready
//   const clients = await bed.clients('alpha');               new and long connections, counted (clients.ts)
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Authority } from '../e2e/authority.ts';
import { Client } from '../e2e/client.ts';
import { LOGS } from '../e2e/component.ts';
import { ManagementCluster } from '../e2e/management-cluster.ts';
import { MANAGEMENT_ADDRESS, Networks } from '../e2e/networks.ts';
import { proxiedServer, Workload } from '../e2e/workload.ts';
import { ip } from '../support/network/netns.ts';
import { until } from '../support/tcp.ts';
import { ContainerRuntime } from './container-runtime.ts';
import { CRASHING_IMAGE, ISTHMUS_IMAGE, isthmusImage, PAUSE_IMAGE, scratchImage } from './images.ts';
import { Kubelet } from './kubelet.ts';
import { RealNode } from './real-node.ts';

export const NODES = ['net-1', 'net-2'] as const;
export type NodeName = (typeof NODES)[number];
export const IMAGE = 'registry.example/isthmus';
export const CHART = fileURLToPath(new URL('../../deploy/helm/isthmus', import.meta.url));

const CLIENT = { name: 'client', address: '10.250.0.11' };
const ADDRESS: Readonly<Record<NodeName, string>> = { 'net-1': '10.250.0.21', 'net-2': '10.250.0.22' };
const PODS: Readonly<Record<NodeName, string>> = { 'net-1': '10.244.1.0/24', 'net-2': '10.244.2.0/24' };

/** One node with its programs. */
export interface BedNode {
  readonly machine: RealNode;
  readonly runtime: ContainerRuntime;
  readonly kubelet: Kubelet;
  readonly kubeProxy: Client;
}

export class Bed {
  readonly authority = new Authority('nodes-ca');
  readonly networks = new Networks();
  readonly management = new ManagementCluster({ nodeAuthority: this.authority });
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-bed-'));
  readonly workloads = new Map<string, Workload>();
  /** How long the import of our image took on the slowest node, in seconds. A node of yours pulls it instead. */
  importSeconds = 0;
  readonly #nodes = new Map<NodeName, BedNode>();
  #client: Client | null = null;

  static async start(): Promise<Bed> {
    const bed = new Bed();
    try {
      await bed.#start();
    } catch (error) {
      await bed.stop();
      throw error;
    }
    return bed;
  }

  async #start(): Promise<void> {
    this.networks.addHost(CLIENT.name, CLIENT.address);
    for (const name of NODES) this.networks.addHost(name, ADDRESS[name]);
    for (const name of NODES) this.#addRoutes(name);
    const archives = [
      { file: scratchImage(this.directory, PAUSE_IMAGE, 'pause'), name: PAUSE_IMAGE },
      { file: scratchImage(this.directory, CRASHING_IMAGE, 'crash'), name: CRASHING_IMAGE },
      { file: isthmusImage(this.directory), name: ISTHMUS_IMAGE },
    ];
    await this.management.start({ machines: { [CLIENT.name]: CLIENT.address }, manifests: [] });
    this.#client = this.#kubeProxy(CLIENT.name);
    await Promise.all(NODES.map((name) => this.#addNode(name, archives)));
    for (const name of NODES) await this.untilReady(name);
  }

  /** Adds the routes that a node lost with its link. */
  restoreRoutes(name: NodeName): void {
    for (const each of NODES.filter((other) => other !== name))
      ip('-n', name, 'route', 'replace', PODS[each], 'via', ADDRESS[each]);
  }

  /** The other node, the API server and the clients reach the Pods of this node through it. */
  #addRoutes(name: NodeName): void {
    const route = ['route', 'add', PODS[name], 'via', ADDRESS[name]];
    ip(...route);
    for (const host of [CLIENT.name, ...NODES.filter((each) => each !== name)]) ip('-n', host, ...route);
  }

  #kubeProxy(netns: string): Client {
    const { directory } = this;
    return new Client({
      netns,
      mode: 'nftables',
      directory,
      managementKubeconfig: this.management.kubeconfigFile,
    });
  }

  async #addNode(name: NodeName, archives: readonly { file: string; name: string }[]): Promise<void> {
    const machine = new RealNode({
      name,
      address: ADDRESS[name],
      netnsDirectory: this.networks.netnsDirectory(name),
    });
    const runtime = new ContainerRuntime(machine, PODS[name]);
    const kubelet = new Kubelet(machine, this.management.controlPlane, this.authority);
    await machine.boot();
    this.#nodes.set(name, { machine, runtime, kubelet, kubeProxy: this.#kubeProxy(name) });
    await runtime.start();
    for (const { file, name: image } of archives) {
      const from = performance.now();
      await runtime.importImage(file, image);
      const seconds = (performance.now() - from) / 1000;
      if (image === ISTHMUS_IMAGE) this.importSeconds = Math.max(this.importSeconds, seconds);
    }
    await runtime.tag(ISTHMUS_IMAGE, `${IMAGE}:next`);
    kubelet.start();
  }

  node(name: NodeName): BedNode {
    return this.#nodes.get(name) as BedNode;
  }

  get client(): Client {
    if (this.#client === null) throw new Error('the bed was not started');
    return this.#client;
  }

  async untilReady(name: NodeName): Promise<void> {
    const path = '{.status.conditions[?(@.type=="Ready")].status}';
    await this.until(
      `${name} is Ready`,
      async () =>
        (await this.kubectl('get', 'node', name, '-o', `jsonpath=${path}`).catch(() => '')) === 'True',
    );
  }

  /** The kubelet has reported the node once more. Its first report may be missing: the kubelet then retries after seconds. */
  async untilHeartbeat(name: NodeName): Promise<void> {
    const path = 'jsonpath={.spec.renewTime}';
    const renewed = () =>
      this.kubectl('-n', 'kube-node-lease', 'get', 'lease', name, '-o', path).catch(() => '');
    const before = await renewed();
    await this.until(`${name} reports again`, async () => !['', before].includes(await renewed()));
    await this.untilReady(name);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.management.kubectl(...args);
  }

  async helm(...args: readonly string[]): Promise<string> {
    const all = ['--kubeconfig', this.management.kubeconfigFile, '--namespace', 'magnum-system', ...args];
    try {
      const { stdout } = await promisify(execFile)(process.env.ISTHMUS_HELM as string, all, {
        timeout: 300_000,
      });
      return stdout;
    } catch (error) {
      throw new Error(`helm ${args.join(' ')}: ${(error as { stderr?: string }).stderr || error}`);
    }
  }

  /** A TLS server in a tenant's network with a port on these nodes, and what Cluster API writes about it. */
  async addWorkload(name: string, nodes: readonly NodeName[]): Promise<Workload> {
    const workload = new Workload({ name });
    this.workloads.set(name, workload);
    this.networks.addTenant(name);
    for (const node of nodes) this.attach(workload, node);
    await workload.start();
    await this.management.addCluster(workload);
    return workload;
  }

  attach(workload: Workload, node: NodeName): void {
    this.networks.attach(workload.name, node, workload.netns, 10 + NODES.indexOf(node));
  }

  detach(workload: Workload, node: NodeName): void {
    this.networks.detach(workload.name, node, workload.netns);
  }

  /** The kubeconfig of a cluster, once it leads to the Service and clients reach an instance. */
  async proxiedKubeconfig(name: string): Promise<string> {
    await this.until(`the kubeconfig of ${name} leads to its Service`, async () =>
      (await this.management.kubeconfig(name)).includes(`server: ${proxiedServer(name)}\n`),
    );
    return this.management.kubeconfig(name);
  }

  /** Waits until the condition holds. The limit is generous: other suites may use the machine. */
  until(what: string, condition: () => boolean | Promise<boolean>, milliseconds = 60_000): Promise<void> {
    return until(what, condition, milliseconds);
  }

  /** Stops each part, even if another part fails. The logs of all Pods stay in the log directory. */
  async stop(): Promise<void> {
    const problems: unknown[] = [];
    const attempt = async (act: () => unknown) => {
      try {
        await act();
      } catch (error) {
        problems.push(error);
      }
    };
    for (const [name, { machine }] of this.#nodes)
      await attempt(() =>
        cpSync(join(machine.disk, 'log'), join(LOGS, name), { recursive: true, dereference: true }),
      );
    for (const { machine, kubelet, runtime, kubeProxy } of this.#nodes.values()) {
      await attempt(() => kubelet.stop());
      await attempt(() => runtime.stop());
      await attempt(() => machine.crash());
      await attempt(() => kubeProxy.stop());
    }
    await attempt(() => this.#client?.stop());
    for (const each of this.workloads.values()) await attempt(() => each.stop());
    await attempt(() => this.management.stop());
    await attempt(() => this.networks.remove());
    await attempt(() => rmSync(this.directory, { recursive: true, force: true }));
    if (problems.length > 0) throw new AggregateError(problems, `the bed did not go: ${problems.join('; ')}`);
  }
}

/** The address of the API server as Pods of the host network see it, for values such as `apiServer.host`. */
export const API_SERVER = MANAGEMENT_ADDRESS;
