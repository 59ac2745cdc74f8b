// Ranges of addresses as users write them (`192.0.2.0/24`): which texts are one, and in one spelling. Pure.
import { isIP, SocketAddress } from 'node:net';

/** null where it is none. Bits of the host may be set, as Kubernetes allows it: only the prefix counts. */
export function canonicalCidr(text: string): string | null {
  const match = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/.exec(text);
  if (match === null) return null;
  const [, bare = '', digits = ''] = match;
  const version = isIP(bare);
  const length = Number(digits);
  if (version === 0 || length > (version === 4 ? 32 : 128) || digits !== String(length)) return null;
  const { address } = new SocketAddress({ address: bare, family: version === 4 ? 'ipv4' : 'ipv6' });
  // A range of IPv4 that is written as IPv6 would be compared with no client's address.
  return address.startsWith('::ffff:') ? null : `${address}/${length}`;
}
