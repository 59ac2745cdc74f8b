// How the program writes the address of a backend, and how it counts the address of a client. Pure.
import { isIPv6 } from 'node:net';

/** An address and a port as in a URL: IPv6 in brackets. */
export function endpointText({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** The source by which eviction counts connections: an IPv4 address, or the /64 of an IPv6 address, because a client can choose any address in its /64. */
export function sourceOf(address: string | undefined): string {
  const [bare = ''] = (address ?? '').replace(/^::ffff:(?=[\d.]+$)/i, '').split('%');
  if (!isIPv6(bare)) return bare;
  const [head = '', tail] = bare.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(8 - groups.length - after.length).fill('0');
  return `${[...groups, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
