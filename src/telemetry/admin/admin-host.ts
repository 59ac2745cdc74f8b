// Checks the host name of a request to the admin port, against DNS rebinding. A foreign site can let its name resolve to this address.
// The browser then lets pages of that site read every answer, but the `Host` header still carries the foreign name. Pure.
import { BlockList, isIP, isIPv6 } from 'node:net';

export interface AdminRefusal {
  readonly status: 403 | 421;
  readonly reason: string;
}

export interface AskedFor {
  readonly target: string;
  /** One entry per header line, names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The address of the listening socket, and the local address of this connection. */
  readonly ownAddresses: readonly string[];
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const USE = 'use localhost, a loopback address or the address of --admin, with any port';

/** null: the request may be answered. */
export function adminRefusal({ target, headers, ownAddresses }: AskedFor): AdminRefusal | null {
  const misdirected = (what: string): AdminRefusal => ({ status: 421, reason: `${what}: ${USE}` });
  const valuesOf = (wanted: string) => headers.filter(([name]) => name === wanted).map(([, value]) => value);
  // RFC 9112, section 3.2.2: the authority of an absolute target overrides Host. Clients send such a target only to a proxy.
  if (!target.startsWith('/') && target !== '*') return misdirected('this server is not a proxy');
  const [host, ...more] = valuesOf('host');
  if (host === undefined) return misdirected('the request has no Host header');
  if (more.length > 0) return misdirected('the request has several Host headers');
  if (!isOwnAuthority(host, ownAddresses)) return misdirected('the Host header names another host');
  const origins = valuesOf('origin');
  const isOurs = (origin: string) => isOwnAuthority(origin.replace(/^https?:\/\//i, ''), ownAddresses);
  return origins.every(isOurs)
    ? null
    : { status: 403, reason: 'requests from pages of other sites are rejected' };
}

/** `<name or address>[:<port>]`. Accepts only the usual form of an address: a browser never sends 127.1 or 0x7f000001 in Host. */
function isOwnAuthority(authority: string, ownAddresses: readonly string[]): boolean {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{0,5})?$/.exec(authority);
  if (match === null) return false;
  const [, bracketed, plain = ''] = match;
  if (bracketed !== undefined) return isIPv6(bracketed) && isOwnAddress(bracketed, ownAddresses);
  return /^localhost\.?$/i.test(plain) || (isIP(plain) === 4 && isOwnAddress(plain, ownAddresses));
}

function isOwnAddress(address: string, ownAddresses: readonly string[]): boolean {
  if (isIn(LOOPBACK, address)) return true;
  return ownAddresses.some((own) => {
    const [bare = ''] = own.replace(/^::ffff:(?=[\d.]+$)/i, '').split('%');
    if (isIP(bare) === 0) return false;
    const only = new BlockList();
    only.addAddress(bare, isIPv6(bare) ? 'ipv6' : 'ipv4');
    return isIn(only, address);
  });
}

/** A BlockList also matches the IPv6-mapped form of an IPv4 address. The zone is removed: it is not part of the address. */
function isIn(list: BlockList, address: string): boolean {
  const [bare = ''] = address.split('%');
  return list.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4');
}
