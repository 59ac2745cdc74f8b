// Two isolated clusters with the same private address in two real namespaces. Each has its own HTTPS server and CA.
import { randomUUID } from 'node:crypto';
import { type Certificate, selfSigned } from './certificates.ts';
import { manifest } from './isthmus.ts';
import { ip, makeNetns } from './network/netns.ts';
import { NetnsServer } from './network/netns-server.ts';

export const ADDRESS = '10.0.0.5';

export interface TestCluster {
  readonly name: string;
  readonly networkId: string;
  readonly netns: string;
  readonly certificate: Certificate;
  readonly manifest: string;
}

export class TwoClusters {
  readonly alpha = cluster('alpha', 'qdhcp');
  readonly beta = cluster('beta', 'ovnmeta');
  readonly servers = new Map<string, NetnsServer>();

  async start(): Promise<void> {
    for (const each of [this.alpha, this.beta]) {
      makeNetns({ name: each.netns, addresses: [`${ADDRESS}/32`] });
      await this.serve(each);
    }
  }

  async serve(each: TestCluster): Promise<void> {
    const { certFile, keyFile } = each.certificate;
    this.servers.set(
      each.name,
      await NetnsServer.start(each.netns, 'https', ADDRESS, '6443', each.name, certFile, keyFile),
    );
  }

  async stop(): Promise<void> {
    for (const server of this.servers.values()) await server.stop();
    for (const each of [this.alpha, this.beta]) ip('netns', 'delete', each.netns);
  }
}

function cluster(name: string, prefix: string): TestCluster {
  const networkId = randomUUID();
  return {
    name,
    networkId,
    netns: `${prefix}-${networkId}`,
    certificate: selfSigned(
      `${name}.magnum-system`,
      name,
      `${name}.magnum-system.svc`,
      `${name}.magnum-system.svc.cluster.local`,
      // For clusters of tests that give this backend another name.
      '*.magnum-system.svc',
    ),
    manifest: manifest({ name, networkId, address: ADDRESS }),
  };
}
