// A tenant's network for the control benchmark: a netns like one from Neutron, connected by a veth to a second netns. The second netns
// represents the tenant's machines. One process in it runs the API servers of all clusters, each on its own address.
import { randomUUID } from 'node:crypto';
import { selfSigned } from '../../test/support/certificates.ts';
import type { Management } from '../../test/support/kubernetes/management.ts';
import { ip, makeNetns } from '../../test/support/network/netns.ts';
import { NetnsServer } from '../../test/support/network/netns-server.ts';

const MAC = '02:00:00:00:00:02';

export class Tenant {
  readonly networkId = randomUUID();
  readonly netns = `qdhcp-${this.networkId}`;
  readonly certificate = selfSigned(`tenant-${this.networkId}`, '*.magnum-system.svc');
  readonly #machines = `machines-${this.networkId.slice(0, 8)}`;
  readonly #size: number;
  #server: NetnsServer | null = null;

  constructor(size: number) {
    this.#size = size;
  }

  address(index: number): string {
    return `10.9.${index >> 8}.${index & 255}`;
  }

  async open(): Promise<void> {
    makeNetns({ name: this.#machines });
    for (let i = 1; i <= this.#size; i += 1)
      ip('-n', this.#machines, 'address', 'add', `${this.address(i)}/32`, 'dev', 'lo');
    this.attach();
    await this.serve();
  }

  /** Creates the tenant's netns and its link to the machines. */
  attach(): void {
    makeNetns({ name: this.netns });
    ip(
      '-n',
      this.netns,
      'link',
      'add',
      'tap',
      'type',
      'veth',
      'peer',
      'name',
      'eth0',
      'netns',
      this.#machines,
    );
    ip('-n', this.#machines, 'link', 'set', 'eth0', 'address', MAC);
    ip('-n', this.#machines, 'address', 'add', '10.8.0.2/24', 'dev', 'eth0');
    ip('-n', this.#machines, 'link', 'set', 'eth0', 'up');
    ip('-n', this.netns, 'address', 'add', '10.8.0.1/24', 'dev', 'tap');
    ip('-n', this.netns, 'link', 'set', 'tap', 'up');
    // With a permanent neighbour entry, a link that is down drops packets silently. Otherwise address resolution would fail.
    ip('-n', this.netns, 'neigh', 'replace', '10.8.0.2', 'lladdr', MAC, 'dev', 'tap', 'nud', 'permanent');
    ip('-n', this.netns, 'route', 'add', '10.9.0.0/16', 'via', '10.8.0.2');
  }

  /** Deletes the link first: an open handle keeps a deleted netns, and the link in it, alive for a moment. */
  detach(): void {
    ip('-n', this.#machines, 'link', 'delete', 'eth0');
    ip('netns', 'delete', this.netns);
  }

  async serve(): Promise<void> {
    const { certFile, keyFile } = this.certificate;
    this.#server = await NetnsServer.start(
      this.#machines,
      'https',
      '0.0.0.0',
      '6443',
      'api',
      certFile,
      keyFile,
    );
  }

  /** Stops the server, so the machines refuse new connections. */
  async kill(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  /** Starts or stops dropping packets silently. */
  silence(silent: boolean): void {
    // The blackhole drops all answers: its /25 is more specific than the interface's own /24 route.
    ip('-n', this.#machines, 'route', silent ? 'add' : 'del', 'blackhole', '10.8.0.0/25');
  }

  addTo(management: Management, index: number): string {
    const name = `cluster-${index}`;
    management.addCluster({ name, networkId: this.networkId, address: this.address(index) });
    return name;
  }

  async close(): Promise<void> {
    await this.kill();
    ip('netns', 'delete', this.netns);
    ip('netns', 'delete', this.#machines);
  }
}
