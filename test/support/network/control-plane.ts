// The control plane of one cluster in the netns of its network: a virtual IP and control-plane machines, each with an HTTPS server that
// answers with its own name. Addresses without a server drop every packet, like a dead machine.
import { randomUUID } from 'node:crypto';
import { selfSigned } from '../certificates.ts';
import { ip, makeNetns } from './netns.ts';
import { NetnsServer } from './netns-server.ts';

export const VIP = '10.0.0.5';
export const PORT = 6443;
export const MACHINES = { 'cp-1': '10.0.0.11', 'cp-2': '10.0.0.12', 'cp-3': '10.0.0.13' } as const;
export type MachineName = keyof typeof MACHINES;

export class ControlPlaneNetwork {
  readonly networkId: string;
  readonly netns: string;
  readonly #certificate = selfSigned('api');
  readonly #servers = new Map<string, NetnsServer>();
  readonly #remove: () => void;

  /** By default the netns has the name that the DHCP agent gives it. */
  constructor(of: { readonly networkId?: string; readonly name?: string } = {}) {
    const { networkId = randomUUID(), name = `qdhcp-${networkId}` } = of;
    this.networkId = networkId;
    const { name: netns, remove } = makeNetns({ name });
    this.netns = netns;
    this.#remove = remove;
    // Both ends are here, so no machine answers an ARP request.
    ip('-n', netns, 'link', 'add', 'dead', 'type', 'veth', 'peer', 'name', 'void');
    ip('-n', netns, 'address', 'add', '10.0.0.250/24', 'dev', 'dead');
    for (const end of ['dead', 'void']) ip('-n', netns, 'link', 'set', end, 'up');
  }

  async serve(name: string, address: string): Promise<void> {
    ip('-n', this.netns, 'address', 'add', `${address}/32`, 'dev', 'lo');
    const { certFile, keyFile } = this.#certificate;
    const server = await NetnsServer.start(
      this.netns,
      'https',
      address,
      String(PORT),
      name,
      certFile,
      keyFile,
    );
    this.#servers.set(address, server);
  }

  /** From now on, packets to this address vanish. */
  async kill(address: string): Promise<void> {
    ip('-n', this.netns, 'address', 'delete', `${address}/32`, 'dev', 'lo');
    await this.#servers.get(address)?.stop();
    this.#servers.delete(address);
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) await server.stop();
    this.#remove();
  }
}
