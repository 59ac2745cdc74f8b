// Who may use a listener: the networks that its owner names. Nobody names any: everybody may. What is not a network lets nobody in.
import { BlockList, isIP } from 'node:net';
import type { PoolTraits } from '../routing/route-table.ts';

/** A list is compiled once; routes are swapped, and their old lists go with them. */
const compiled = new WeakMap<readonly string[], BlockList>();

export function isAllowed({ allowedCidrs }: PoolTraits, address: string): boolean {
  if (allowedCidrs.length === 0) return true;
  let list = compiled.get(allowedCidrs);
  if (list === undefined) {
    list = listOf(allowedCidrs);
    compiled.set(allowedCidrs, list);
  }
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits, ...rest] = network.split('/');
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : most + 1;
    if (family === 0 || length > most || rest.length > 0) continue;
    list.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
