// The networks of a site, all inside the sandbox: one that every node and client is on, and one for each tenant, where all tenants
// use the same addresses. A network node has a directory of namespaces of its own, as each real one has its /run/netns.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ip } from '../support/network/netns.ts';

const BRIDGE = 'br-site';
/** Where the test itself, the management cluster and CoreDNS are. */
export const MANAGEMENT_ADDRESS = '10.250.0.1';
/** Every tenant's API server has this one. */
export const TENANT_ADDRESS = '10.0.0.5';
const NODES = '/run/site';

function mount(...args: readonly string[]): void {
  execFileSync('mount', args, { stdio: 'pipe' });
}

export class Networks {
  readonly #netns: string[] = [];
  readonly #mounts: string[] = [];
  #links = 0;

  constructor() {
    ip('link', 'add', BRIDGE, 'type', 'bridge');
    ip('address', 'add', `${MANAGEMENT_ADDRESS}/24`, 'dev', BRIDGE);
    ip('link', 'set', BRIDGE, 'up');
  }

  /** A machine on the site's network, with a default route as every machine has one. */
  addHost(name: string, address: string): void {
    this.#addNetns(name);
    const link = this.#link(name);
    ip('link', 'set', link, 'master', BRIDGE, 'up');
    ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    ip('-n', name, 'route', 'add', 'default', 'via', MANAGEMENT_ADDRESS);
  }

  /** What stands for /run/netns on this node; namespaces appear in it while a program on the node looks. */
  netnsDirectory(node: string): string {
    const directory = join(NODES, node);
    if (!this.#mounts.includes(directory)) {
      mkdirSync(directory, { recursive: true });
      mount('-t', 'tmpfs', '-o', 'mode=755', 'netns', directory);
      mount('--make-shared', directory);
      this.#mounts.push(directory);
    }
    return directory;
  }

  /** A tenant's network with one machine on it, on which its API server runs. Nothing leads from here to any other network. */
  addTenant(name: string): void {
    this.#addNetns(name);
    ip('-n', name, 'link', 'add', 'br0', 'type', 'bridge');
    ip('-n', name, 'address', 'add', `${TENANT_ADDRESS}/24`, 'dev', 'br0');
    ip('-n', name, 'link', 'set', 'br0', 'up');
  }

  /** One more machine on a tenant's network: it is this netns, too, under an address of its own. */
  addMachine(tenant: string, address: string): void {
    ip('-n', tenant, 'address', 'add', `${address}/24`, 'dev', 'br0');
  }

  removeMachine(tenant: string, address: string): void {
    ip('-n', tenant, 'address', 'delete', `${address}/24`, 'dev', 'br0');
  }

  /** Neutron puts a port of the tenant's network into a namespace of that node. `host` is the last number of its address. */
  attach(tenant: string, node: string, name: string, host: number): void {
    const own = `${tenant}.${node}`;
    this.#addNetns(own);
    const link = this.#link(own, tenant);
    ip('-n', tenant, 'link', 'set', link, 'master', 'br0', 'up');
    ip('-n', own, 'address', 'add', `10.0.0.${host}/24`, 'dev', 'eth0');
    ip('-n', own, 'link', 'set', 'eth0', 'up');
    const file = join(this.netnsDirectory(node), name);
    writeFileSync(file, '', { mode: 0o444 });
    mount('--bind', `/run/netns/${own}`, file);
  }

  /** Another name for a namespace that is attached already: many clusters for the price of one. */
  addAlias(tenant: string, node: string, name: string): void {
    const file = join(this.netnsDirectory(node), name);
    writeFileSync(file, '', { mode: 0o444 });
    mount('--bind', `/run/netns/${tenant}.${node}`, file);
  }

  /** And takes it away again. */
  detach(tenant: string, node: string, name: string): void {
    const file = join(this.netnsDirectory(node), name);
    execFileSync('umount', ['--lazy', file], { stdio: 'pipe' }); // as `ip netns delete` does: somebody may hold it open
    rmSync(file);
    this.#deleteNetns(`${tenant}.${node}`);
  }

  /** Whatever of it fails, the rest goes too: the next site wants the same names. */
  remove(): void {
    const problems: unknown[] = [];
    const attempt = (act: () => void) => {
      try {
        act();
      } catch (error) {
        problems.push(error);
      }
    };
    for (const directory of this.#mounts.splice(0))
      attempt(() => execFileSync('umount', ['--recursive', '--lazy', directory], { stdio: 'pipe' }));
    for (const name of [...this.#netns]) attempt(() => this.#deleteNetns(name));
    attempt(() => ip('link', 'delete', BRIDGE));
    if (problems.length > 0)
      throw new AggregateError(problems, `of the networks ${problems.length} parts stay`);
  }

  /** A pair of devices: `eth0` in the namespace, and its other end, whose name is returned, in `peer` or with us. */
  #link(netns: string, peer?: string): string {
    this.#links += 1;
    const name = `v${this.#links}`;
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns);
    if (peer !== undefined) ip('link', 'set', name, 'netns', peer);
    return name;
  }

  #addNetns(name: string): void {
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
    this.#netns.push(name);
  }

  #deleteNetns(name: string): void {
    ip('netns', 'delete', name);
    this.#netns.splice(this.#netns.indexOf(name), 1);
  }
}
