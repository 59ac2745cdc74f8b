// A network node as an operator sets it up: a booted Debian with the package, tenant networks in it, and a management API outside.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Certificate, selfSigned } from '../../support/certificates.ts';
import { Management } from '../../support/kubernetes/management.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { until } from '../../support/tcp.ts';
import { ClientTraffic } from '../../support/traffic.ts';
import { BootedMachine, FIRST, MACHINE_ADDRESS, TEST_ADDRESS } from './machine.ts';

/** Every tenant has the same address, as isolated clusters do. */
export const ADDRESS = '10.0.0.5';
export const NODE = 'net-1';
export const PORT = 6443;

export interface Tenant {
  readonly name: string;
  readonly netns: string;
  readonly certificate: Certificate;
}

export class BootedSite {
  readonly machine: BootedMachine;
  readonly management: Management;
  readonly #servers: NetnsServer[] = [];

  private constructor(machine: BootedMachine, management: Management) {
    this.machine = machine;
    this.management = management;
  }

  /** A machine without the package. */
  static async start(binds: readonly string[] = []): Promise<BootedSite> {
    const machine = await BootedMachine.boot(binds);
    try {
      return new BootedSite(machine, await Management.start({ host: TEST_ADDRESS }));
    } catch (error) {
      await machine.remove();
      throw error;
    }
  }

  /** A machine that serves a cluster `alpha`. */
  static async serving(settings: readonly string[] = []): Promise<BootedSite & { readonly alpha: Tenant }> {
    const site = await BootedSite.start();
    try {
      const alpha = await site.addTenant('alpha');
      await site.install();
      site.configure(settings);
      await site.machine.sh('systemctl start isthmus');
      return Object.assign(site, { alpha });
    } catch (error) {
      await site.stop();
      throw error;
    }
  }

  /** As docs/how-to/install/systemd.md says. Returns what apt and the package print. */
  install(deb = FIRST): Promise<string> {
    return this.machine.sh(
      `apt-get install -y --allow-downgrades --no-install-recommends -o Dpkg::Options::=--force-confold ${deb} 2>&1`,
    );
  }

  /** A kubeconfig with exactly the rights of rbac.yaml. */
  kubeconfig(): string {
    const { KUBECONFIG } = this.management.instance(NODE).environment;
    return readFileSync(KUBECONFIG as string, 'utf8');
  }

  /** The kubeconfig and the settings file of the documentation, with more lines for the settings. */
  configure(settings: readonly string[] = []): void {
    this.machine.write('/etc/isthmus/kubeconfig', this.kubeconfig());
    this.set(settings);
  }

  set(settings: readonly string[]): void {
    const all = ['KUBECONFIG=/etc/isthmus/kubeconfig', `ISTHMUS_NODE_NAME=${NODE}`, ...settings];
    this.machine.write('/etc/default/isthmus', `${all.join('\n')}\n`);
  }

  /** A tenant network in the machine with an API server in it, and its cluster in the management API. */
  async addTenant(name: string): Promise<Tenant> {
    const networkId = randomUUID();
    const tenant = { name, netns: `qdhcp-${networkId}`, certificate: selfSigned(`${name}.magnum-system`) };
    await this.openNetwork(tenant);
    this.management.addCluster({ name, networkId, address: ADDRESS });
    return tenant;
  }

  async openNetwork({ name, netns, certificate: { certFile, keyFile } }: Tenant): Promise<void> {
    const on = `ip -n ${netns}`;
    await this.machine.sh(
      `ip netns add ${netns}; ${on} link set lo up; ${on} address add ${ADDRESS}/32 dev lo`,
    );
    const enter = ['nsenter', `--net=${this.machine.path(`/run/netns/${netns}`)}`] as const;
    this.#servers.push(await NetnsServer.startBy(enter, 'https', ADDRESS, '6443', name, certFile, keyFile));
  }

  traffic(cluster: Tenant): ClientTraffic {
    return new ClientTraffic({ host: MACHINE_ADDRESS, port: PORT, cluster });
  }

  /** Clients that open connections all the time and clients that keep theirs, all served already. */
  async load(cluster: Tenant, { visitors = 4, residents = 4 } = {}): Promise<ClientTraffic> {
    const traffic = this.traffic(cluster);
    await traffic.residents(residents);
    traffic.visitors(visitors);
    await traffic.goesOn(20);
    return traffic;
  }

  async mainPid(): Promise<number> {
    return Number((await this.machine.show('isthmus', 'MainPID')).MainPID);
  }

  /** How often the main process has ended with this exit code since the machine booted. */
  async exits(code: number): Promise<number> {
    const ended = new RegExp(`Main process exited, code=exited, status=${code}/`);
    return (await this.machine.journal()).filter(({ MESSAGE = '' }) => ended.test(MESSAGE)).length;
  }

  async untilActive(what: string): Promise<void> {
    await until(what, async () => (await this.machine.run('systemctl', 'is-active', 'isthmus')).status === 0);
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.splice(0)) await server.stop();
    await this.machine.remove();
    await this.management.stop();
  }
}
