// Checks an address from a manifest before the proxy dials it. It rejects an address that means the netns itself, or that cannot belong
// to an API server. A tenant who writes a manifest must not reach the network node.
import { BlockList, isIP, SocketAddress } from 'node:net';
import { embeddedIpv4s } from './embedded-ipv4.ts';

export type AddressVerdict =
  | { readonly kind: 'private' | 'public' /** Canonical, without brackets. */; readonly address: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'not-an-address' };

// The order matters: `::/96` below also covers `::` and `::1`, but with a less precise reason.
const REFUSED: readonly { readonly reason: string; readonly list: BlockList }[] = [
  {
    reason: 'a loopback address is in the netns itself and is never an API server',
    list: addressRanges('127.0.0.0/8', '::1/128'),
  },
  {
    reason: 'the unspecified address means "this host" and is never an API server',
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

const LOCAL_NAT64 = addressRanges('64:ff9b:1::/48');

// RFC 1918, RFC 4193 and RFC 6598. The internet does not route shared address space (RFC 6598), and clouds assign it to tenants.
const PRIVATE = addressRanges('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7');

export function addressVerdict(text: string): AddressVerdict {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const version = isIP(bare);
  if (version === 0 || (bare !== text && version === 4)) return { kind: 'not-an-address' };
  if (bare.includes('%'))
    return { kind: 'refused', reason: 'a zone (the part after "%") has no meaning in another netns' };

  const family = version === 4 ? 'ipv4' : 'ipv6';
  // One text per address: the backend's key and its health must not depend on the spelling.
  const { address } = new SocketAddress({ address: bare, family });
  const reason = refusal(address, family) ?? (family === 'ipv6' ? ipv6Refusal(address) : null);
  if (reason !== null) return { kind: 'refused', reason };
  return { kind: PRIVATE.check(address, family) ? 'private' : 'public', address };
}

const refusal = (address: string, family: 'ipv4' | 'ipv6'): string | null =>
  REFUSED.find(({ list }) => list.check(address, family))?.reason ?? null;

/**
 * An IPv6 address is allowed if the IPv4 address that it embeds is allowed: the object could name that IPv4 address anyway. The NAT64
 * prefix for local use is rejected, because only its site knows where the IPv4 address is in it.
 */
function ipv6Refusal(address: string): string | null {
  if (address.startsWith('::ffff:')) return 'an IPv4-mapped address must be written as plain IPv4';
  for (const embedded of embeddedIpv4s(address)) {
    const reason = refusal(embedded.address, 'ipv4');
    if (reason !== null) return `it is the ${embedded.form} form of ${embedded.address}: ${reason}`;
  }
  return LOCAL_NAT64.check(address, 'ipv6')
    ? 'NAT64 for local use (64:ff9b:1::/48) leads out of the network, to an IPv4 address that is unknown here'
    : null;
}

/** CIDR networks as a list for address checks. */
export function addressRanges(...cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', bits = ''] = cidr.split('/');
    list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}
