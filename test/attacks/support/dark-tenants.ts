// Many clusters whose backends can go dark at one moment: their SYNs get no answer. Each cluster has its own netns, with a link to a shared
// netns where one server acts as every backend.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { manifest } from '../../support/isthmus.ts';
import { makeNetns } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { ADDRESS } from '../../support/two-clusters.ts';
import { TENANT_PORT } from './tenant.ts';

const SERVERS = 'servers';

export interface DarkTenant {
  readonly name: string;
  readonly netns: string;
  readonly manifest: string;
}

export class DarkTenants {
  readonly tenants: readonly DarkTenant[];
  #server: NetnsServer | null = null;
  #dark = 0;

  constructor(count: number) {
    this.tenants = Array.from({ length: count }, (_, index) => {
      const name = `dark-${index}`;
      const networkId = randomUUID();
      const netns = `qdhcp-${networkId}`;
      return { name, netns, manifest: manifest({ name, networkId, address: ADDRESS, port: TENANT_PORT }) };
    });
  }

  async start(): Promise<void> {
    makeNetns({ name: SERVERS, addresses: [`${ADDRESS}/32`] });
    ipBatch(this.tenants.map(({ netns }) => `netns add ${netns}`));
    for (const [index, { netns }] of this.tenants.entries()) {
      const mac = `02:00:00:00:01:${index.toString(16).padStart(2, '0')}`;
      ipBatch(
        [
          `link add eth0 type veth peer name t${index} address ${mac} netns ${SERVERS}`,
          `address add 10.1.${index}.2/24 dev eth0`,
          'link set lo up',
          'link set eth0 up',
          // A permanent neighbour entry: the network drops only SYNs, never ARP requests.
          `neighbour replace 10.1.${index}.1 lladdr ${mac} dev eth0 nud permanent`,
          `route add ${ADDRESS}/32 via 10.1.${index}.1`,
        ],
        netns,
      );
    }
    ipBatch(
      this.tenants.flatMap((_, index) => [
        `address add 10.1.${index}.1/24 dev t${index}`,
        `link set t${index} up`,
      ]),
      SERVERS,
    );
    this.#server = await NetnsServer.start(SERVERS, 'silent', ADDRESS, String(TENANT_PORT));
  }

  /** From now on the first `count` clusters lose every answer of their backend. The others do not change. */
  darken(count: number): void {
    if (this.#dark > 0) this.#rules('delete', this.#dark);
    if (count > 0) this.#rules('add', count);
    this.#dark = count;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    ipBatch([...this.tenants.map(({ netns }) => netns), SERVERS].map((netns) => `netns delete ${netns}`));
  }

  #rules(verb: 'add' | 'delete', count: number): void {
    ipBatch(
      Array.from({ length: count }, (_, index) => `rule ${verb} to 10.1.${index}.0/24 priority 10 blackhole`),
      SERVERS,
    );
  }
}

function ipBatch(lines: readonly string[], netns?: string): void {
  const where = netns === undefined ? [] : ['-n', netns];
  execFileSync('ip', [...where, '-batch', '-'], {
    input: `${lines.join('\n')}\n`,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
}
