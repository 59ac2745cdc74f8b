// Networks of several tenants on one network node, for attacks. Each tenant has its own netns with the same address, and an HTTPS
// server there that answers with its owner's name. Dials into each netns are counted.
import { randomUUID } from 'node:crypto';
import { get } from 'node:https';
import { selfSigned } from '../certificates.ts';
import type { Isthmus } from '../isthmus.ts';
import { makeNetns } from './netns.ts';
import { dialsIn } from './netns-dials.ts';
import { NetnsServer } from './netns-server.ts';

export const TARGET = { address: '10.0.0.7', port: 10_250 } as const;

export interface AttackNetwork {
  readonly owner: string;
  readonly networkId: string;
  readonly netns: string;
  dials(): number;
}

export class AttackNetworks {
  readonly #ends: (() => unknown)[] = [];

  /** A netns with a server of this owner; by default it has the name that the DHCP agent would give it. */
  async add(owner: string, nameOf = (id: string) => `qdhcp-${id}`): Promise<AttackNetwork> {
    const networkId = randomUUID();
    const { name: netns, remove } = makeNetns({
      name: nameOf(networkId),
      addresses: [`${TARGET.address}/32`],
    });
    const { certFile, keyFile } = selfSigned(owner);
    const { address, port } = TARGET;
    const server = await NetnsServer.start(netns, 'https', address, String(port), owner, certFile, keyFile);
    this.#ends.unshift(() => server.stop(), remove);
    return { owner, networkId, netns, dials: () => dialsIn(netns) };
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) await end();
  }
}

/** The answer of the server behind this cluster through the proxy, or the error if no server answers. */
export function answerOf(isthmus: Isthmus, cluster: string): Promise<string> {
  return new Promise((resolve) => {
    const where = { host: isthmus.host, port: isthmus.port, servername: `${cluster}.magnum-system` };
    get({ ...where, rejectUnauthorized: false, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text.trim()));
    }).on('error', ({ message }) => resolve(message));
  });
}
