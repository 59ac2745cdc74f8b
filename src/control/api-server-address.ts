// Judges an address from a manifest before anything dials it. What it refuses would not leave the netns, or would reach
// something in it that is no API server: whoever may write a manifest must not thereby talk to the network node.
import { type BlockList, isIP, SocketAddress } from 'node:net';
import { addressRanges } from './address-ranges.ts';

export type AddressVerdict =
  | { readonly kind: 'private' | 'public' /** Canonical, without brackets. */; readonly address: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'not-an-address' };

// In this order: `::/96` below covers `::` and `::1` too, but with a poorer reason.
const REFUSED: readonly { readonly reason: string; readonly list: BlockList }[] = [
  {
    reason: 'a loopback address leads back into the netns itself, never to an API server',
    list: addressRanges('127.0.0.0/8', '::1/128'),
  },
  {
    reason: 'the unspecified address stands for "this host", never for an API server',
    list: addressRanges('0.0.0.0/8', '::/128'),
  },
  {
    reason:
      'a link-local address names services of the node (169.254.169.254 is the metadata service), not an API server',
    list: addressRanges('169.254.0.0/16', 'fe80::/10'),
  },
  {
    reason: 'a multicast address has no API server behind it',
    list: addressRanges('224.0.0.0/4', 'ff00::/8'),
  },
  {
    reason: 'a reserved or broadcast address has no API server behind it',
    list: addressRanges('240.0.0.0/4', '::/96'),
  },
];

// RFC 1918, RFC 4193, and RFC 6598: shared address space is not routed on the internet either, and clouds do hand it to tenants.
const PRIVATE = addressRanges('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7');

export function addressVerdict(text: string): AddressVerdict {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const version = isIP(bare);
  if (version === 0 || (bare !== text && version === 4)) return { kind: 'not-an-address' };
  if (bare.includes('%'))
    return { kind: 'refused', reason: 'a zone (the part after "%") has no meaning in another netns' };

  const family = version === 4 ? 'ipv4' : 'ipv6';
  // One text per address: the backend's key, and with it its health, must not depend on how somebody spelled it.
  const { address } = new SocketAddress({ address: bare, family });
  for (const { reason, list } of REFUSED) if (list.check(address, family)) return { kind: 'refused', reason };
  if (address.startsWith('::ffff:')) {
    return { kind: 'refused', reason: 'an IPv4-mapped address belongs written as plain IPv4' };
  }
  return { kind: PRIVATE.check(address, family) ? 'private' : 'public', address };
}
