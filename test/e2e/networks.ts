// The networks of a site, all inside the sandbox: one for all nodes and clients, and one for each tenant. All tenants use the same
// addresses. Each network node has its own directory of namespaces, like /run/netns on a real node.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ip } from '../support/network/netns.ts';

const BRIDGE = 'br-site';
/** The address of the test itself, the management cluster and CoreDNS. */
export const MANAGEMENT_ADDRESS = '10.250.0.1';
/** Every tenant's API server has this address. */
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

  /** A machine on the site's network, with a default route. */
  addHost(name: string, address: string): void {
    this.#addNetns(name);
    const link = this.#link(name);
    ip('link', 'set', link, 'master', BRIDGE, 'up');
    ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    ip('-n', name, 'route', 'add', 'default', 'via', MANAGEMENT_ADDRESS);
  }

  /** The directory that is /run/netns on this node; namespaces appear in it while programs run. */
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

  /** A tenant's network with one machine for its API server. It has no route to any other network. */
  addTenant(name: string): void {
    this.#addNetns(name);
    ip('-n', name, 'link', 'add', 'br0', 'type', 'bridge');
    ip('-n', name, 'address', 'add', `${TENANT_ADDRESS}/24`, 'dev', 'br0');
    ip('-n', name, 'link', 'set', 'br0', 'up');
  }

  /** Another machine on a tenant's network: another address in the same netns. */
  addMachine(tenant: string, address: string): void {
    ip('-n', tenant, 'address', 'add', `${address}/24`, 'dev', 'br0');
  }

  removeMachine(tenant: string, address: string): void {
    ip('-n', tenant, 'address', 'delete', `${address}/24`, 'dev', 'br0');
  }

  /** As Neutron does: puts a port of the tenant's network into a namespace of that node. `host` is the last number of its address. */
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

  /** Another name for an attached namespace: many clusters at the cost of one. */
  addAlias(tenant: string, node: string, name: string): void {
    const file = join(this.netnsDirectory(node), name);
    writeFileSync(file, '', { mode: 0o444 });
    mount('--bind', `/run/netns/${tenant}.${node}`, file);
  }

  /** Removes the namespace again. */
  detach(tenant: string, node: string, name: string): void {
    const file = join(this.netnsDirectory(node), name);
    execFileSync('umount', ['--lazy', file], { stdio: 'pipe' }); // as `ip netns delete` does: another process may hold it open
    rmSync(file);
    this.#deleteNetns(`${tenant}.${node}`);
  }

  /** Removes everything, even if one step fails: the next site needs the same names. */
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

  /** A veth pair: `eth0` in the namespace, and the returned other end in `peer` or in the netns of the test. */
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
