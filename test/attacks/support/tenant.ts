// One cluster in its own netns, with a backend in the mode that an attack needs (a mode of netns-server-main.ts).
import { randomUUID } from 'node:crypto';
import { type Certificate, selfSigned } from '../../support/certificates.ts';
import { manifest } from '../../support/isthmus.ts';
import { ip, makeNetns } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { ADDRESS, type TestCluster } from '../../support/two-clusters.ts';

export const TENANT_PORT = 6443;

export class Tenant implements TestCluster {
  readonly networkId = randomUUID();
  readonly netns = `qdhcp-${this.networkId}`;
  readonly name: string;
  readonly certificate: Certificate;
  readonly manifest: string;
  readonly #servers: NetnsServer[] = [];

  private constructor(name: string) {
    this.name = name;
    this.certificate = selfSigned(`${name}.magnum-system`);
    this.manifest = manifest({ name, networkId: this.networkId, address: ADDRESS, port: TENANT_PORT });
  }

  /** Starts the tenant with a TLS server, or with a server of this mode. */
  static async start(name: string, ...mode: readonly string[]): Promise<Tenant> {
    const tenant = new Tenant(name);
    const { netns, certificate } = tenant;
    makeNetns({ name: netns, addresses: [`${ADDRESS}/32`] });
    const https = ['https', ADDRESS, String(TENANT_PORT), name, certificate.certFile, certificate.keyFile];
    const [kind, ...rest] = mode;
    const args = kind === undefined ? https : [kind, ADDRESS, String(TENANT_PORT), ...rest];
    tenant.#servers.push(await NetnsServer.start(netns, ...args));
    return tenant;
  }

  /** Starts one more server, on an address that it adds to the netns. */
  async addServer(mode: string, address: string, port: number): Promise<void> {
    ip('-n', this.netns, 'address', 'add', `${address}/32`, 'dev', 'lo');
    this.#servers.push(await NetnsServer.start(this.netns, mode, address, String(port)));
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop();
    ip('netns', 'delete', this.netns);
  }
}
