// Checks that this instance listens at its advertised address: `--listen` may name a single other address. Pure.
import { isIPv4, SocketAddress } from 'node:net';
import { addressRefusal } from './address-refusal.ts';

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
