// Why an address cannot be advertised: the API server would reject the slice, or no client could reach it. Pure.
import { type BlockList, isIP, SocketAddress } from 'node:net';
import { addressRanges } from '../sources/api-server-address.ts';

/** The API server rejects the first four (ValidateEndpointIP). No client can connect to the last. */
const REFUSED: readonly { readonly what: string; readonly list: BlockList }[] = [
  {
    what: 'a loopback address, which no other host can reach',
    list: addressRanges('127.0.0.0/8', '::1/128'),
  },
  { what: 'the unspecified address, which belongs to no host', list: addressRanges('0.0.0.0/8', '::/128') },
  {
    what: 'a link-local address, which is not unique outside its link',
    list: addressRanges('169.254.0.0/16', 'fe80::/10'),
  },
  { what: 'a multicast address', list: addressRanges('224.0.0.0/4', 'ff00::/8') },
  { what: 'a reserved or broadcast address', list: addressRanges('240.0.0.0/4', '::/96') },
];

/** Why clients cannot use this address; null if they can. */
export function addressRefusal(text: string): string | null {
  const version = isIP(text);
  if (version === 0 || text.includes('%')) return 'no IP address';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // A BlockList treats `::ffff:10.0.0.1` as the embedded IPv4 address, so this form is rejected before the lists are checked.
  const { address } = new SocketAddress({ address: text, family });
  if (address.startsWith('::ffff:')) return 'an IPv4 address written as IPv6';
  return REFUSED.find(({ list }) => list.check(address, family))?.what ?? null;
}
