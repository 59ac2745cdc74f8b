// Parses the default routes in /proc/net, and finds the address of the best route's interface. Pure.
import { isIPv6 } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { byText } from '../objects/text-order.ts';
import { addressRefusal } from './address-reach.ts';

export type DefaultRouteAddress =
  | { readonly kind: 'address'; readonly address: string; readonly interface: string }
  | { readonly kind: 'none'; readonly reason: string };

export interface DefaultRoute {
  readonly interface: string;
  readonly metric: number;
}

export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

const RTF_UP = 0x1;
/** Set on an `unreachable default` route, which leads nowhere. */
const RTF_REJECT = 0x200;

/** From /proc/net/route, best first. */
export function ipv4DefaultRoutes(text: string): readonly DefaultRoute[] {
  return best(
    rows(text).map(([dev = '', destination, , flags = '', , , metric = '', mask]) =>
      destination === '00000000' && mask === '00000000' && isUsable(dev, flags)
        ? { interface: dev, metric: Number.parseInt(metric, 10) }
        : null,
    ),
  );
}

/** From /proc/net/ipv6_route, best first. */
export function ipv6DefaultRoutes(text: string): readonly DefaultRoute[] {
  return best(
    rows(text).map(([destination = '', length, , , , metric = '', , , flags = '', dev = '']) =>
      /^0{32}$/.test(destination) && length === '00' && isUsable(dev, flags)
        ? { interface: dev, metric: Number.parseInt(metric, 16) }
        : null,
    ),
  );
}

/** IPv4 before IPv6. If an interface has no usable address, the next route is tried. */
export function defaultRouteAddress(
  ipv4: readonly DefaultRoute[],
  ipv6: readonly DefaultRoute[],
  interfaces: Interfaces,
): DefaultRouteAddress {
  for (const [routes, family] of [
    [ipv4, 'IPv4'],
    [ipv6, 'IPv6'],
  ] as const) {
    for (const { interface: name } of routes) {
      const [address] = usableAddresses(interfaces[name] ?? [], family);
      if (address !== undefined) return { kind: 'address', address, interface: name };
    }
  }
  const names = [...new Set([...ipv4, ...ipv6].map((route) => route.interface))];
  return {
    kind: 'none',
    reason:
      names.length === 0
        ? 'there is no default route'
        : `the default route leads through ${names.join(', ')}, which has no address that other hosts can reach`,
  };
}

/**
 * Sorted, so that each start selects the same address. The kernel lists IPv4 addresses in order of assignment, IPv6 addresses
 * in no reliable order.
 */
function usableAddresses(infos: readonly NetworkInterfaceInfo[], family: 'IPv4' | 'IPv6'): string[] {
  return infos
    .filter((info) => info.family === family && !info.internal && addressRefusal(info.address) === null)
    .map((info, position) => ({ info, position }))
    .sort(
      (a, b) =>
        preference(a.info) - preference(b.info) ||
        (family === 'IPv4' ? a.position - b.position : byText(a.info.address, b.info.address)),
    )
    .map(({ info }) => info.address);
}

function preference({ address, netmask }: NetworkInterfaceInfo): number {
  // fc00::/7 is private to a site, so global addresses come first.
  if (isIPv6(address)) return /^f[cd]/i.test(address) ? 1 : 0;
  // keepalived and similar programs add virtual addresses as /32 and move them to other hosts.
  return netmask === '255.255.255.255' ? 1 : 0;
}

const rows = (text: string): string[][] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/));

function isUsable(dev: string, flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0 && dev !== 'lo' && dev !== '*';
}

const best = (routes: readonly (DefaultRoute | null)[]): readonly DefaultRoute[] =>
  routes
    .filter((route): route is DefaultRoute => route !== null && !Number.isNaN(route.metric))
    .sort((a, b) => a.metric - b.metric);
