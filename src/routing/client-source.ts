// Maps a client address to its source: the address, or its /64 for IPv6. Eviction counts connections by source. Pure.
import { isIPv6 } from 'node:net';

/** An IPv4 address, or the /64 of an IPv6 address, because a client can choose any address in its /64. */
export function sourceOf(address: string | undefined): string {
  const [bare = ''] = (address ?? '').replace(/^::ffff:(?=[\d.]+$)/i, '').split('%');
  if (!isIPv6(bare)) return bare;
  const [head = '', tail] = bare.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(8 - groups.length - after.length).fill('0');
  return `${[...groups, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
