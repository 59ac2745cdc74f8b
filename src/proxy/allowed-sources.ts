// Decides which client addresses may use a listener: those in the networks that its owner lists. An empty list allows every client.
// An entry that is not a valid network allows no client.
import { BlockList, isIP } from 'node:net';
import type { PoolTraits } from '../routing/route-table.ts';

export class AllowedSources {
  /** Each list is compiled once. The keys are weak, so a compiled list is freed together with the routes that contain its networks. */
  readonly #compiled = new WeakMap<readonly string[], BlockList>();

  allows({ allowedCidrs }: PoolTraits, address: string): boolean {
    if (allowedCidrs.length === 0) return true;
    let list = this.#compiled.get(allowedCidrs);
    if (list === undefined) {
      list = listOf(allowedCidrs);
      this.#compiled.set(allowedCidrs, list);
    }
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits, ...rest] = network.split('/');
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const length = Number(bits ?? most);
    const isNumber = bits === undefined || /^\d{1,3}$/.test(bits);
    if (family === 0 || !isNumber || length > most || rest.length > 0) continue;
    list.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
