// Whether clients reach this instance at an address. They do not if the API server would reject the address, if no client can
// reach it, or if `--listen` names another one. Pure.
import { type BlockList, isIP, isIPv4, SocketAddress } from 'node:net';
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
  if (version === 0 || text.includes('%')) return 'not an IP address';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // A BlockList treats `::ffff:10.0.0.1` as the embedded IPv4 address, so this form is rejected before the lists are checked.
  const { address } = new SocketAddress({ address: text, family });
  if (address.startsWith('::ffff:')) return 'an IPv4 address written as IPv6';
  return REFUSED.find(({ list }) => list.check(address, family))?.what ?? null;
}

/** `listen`: undefined means all addresses. */
export function isReachableAt(listen: string | undefined, advertised: string): boolean {
  if (listen === undefined) return true;
  const [here, there] = [canonical(listen), canonical(advertised)];
  if (here === '::') return true; // includes IPv4: both engines listen dual-stack
  return here === '0.0.0.0' ? isIPv4(there) : here === there;
}

/** Describes why clients do not reach this instance, and the fix. `from` is the source of the advertised address. */
export function unreachableAdvice(
  listen: string,
  advertised: string,
  from: string,
): { readonly found: string; readonly fix: string } {
  const where = listen === '0.0.0.0' ? 'at IPv4 addresses only' : `at ${listen} only`;
  const other =
    addressRefusal(listen) === null ? `, or set --advertise-address ${listen} if every node reaches it` : '';
  return {
    found: `clients connect to ${advertised} (from ${from}), but this instance listens ${where}`,
    fix: `Use --listen with a port only, which means all addresses${other}.`,
  };
}

function canonical(address: string): string {
  const [bare = ''] = address.replace(/^::ffff:(?=[\d.]+$)/i, '').split('%');
  try {
    return new SocketAddress({ address: bare, family: isIPv4(bare) ? 'ipv4' : 'ipv6' }).address;
  } catch {
    return address; // not an IP address: compared as text
  }
}
