// Selects the address for the EndpointSlices: the configured address, else the pod's, else the single address in `--listen`, else
// the address of the default route's interface. Rejects, with a reason, an address that the API server would reject or that no client could reach.
// Pure.
import { isIP, SocketAddress } from 'node:net';
import { addressRefusal } from './address-reach.ts';
import type { DefaultRouteAddress } from './default-route.ts';

export interface AddressChoices {
  /** `--advertise-address` or its environment variable. */
  readonly flag: string | null;
  readonly podIp: string | null;
  /** The host of `--listen` or `PROXY_BIND`; undefined: the listener accepts at every address. */
  readonly listenHost: string | undefined;
  readonly defaultRoute: DefaultRouteAddress;
}

export type AdvertisedAddress =
  | {
      readonly kind: 'address';
      /** Canonical, without brackets. */
      readonly address: string;
      readonly family: 'IPv4' | 'IPv6';
      /** The source of the address, for log and status. */
      readonly from: string;
    }
  | { readonly kind: 'none'; readonly reason: string };

/** An invalid configured address is an error. It is never replaced by another address, because the operator must see it. */
export function advertisedAddress({
  flag,
  podIp,
  listenHost,
  defaultRoute,
}: AddressChoices): AdvertisedAddress {
  if (flag !== null) return checked(flag, '--advertise-address');
  if (podIp !== null) return checked(podIp, 'POD_IP');
  // `--listen` may name a loopback or wildcard address. Such an address cannot be published, so it selects nothing here.
  if (listenHost !== undefined && addressRefusal(listenHost) === null)
    return checked(listenHost, '--listen or PROXY_BIND');
  if (defaultRoute.kind === 'none') {
    return {
      kind: 'none',
      reason: `${defaultRoute.reason}; set --advertise-address or POD_IP`,
    };
  }
  return checked(defaultRoute.address, `the default route through ${defaultRoute.interface}`);
}

function checked(text: string, from: string): AdvertisedAddress {
  const refusal = addressRefusal(text);
  if (refusal !== null)
    return { kind: 'none', reason: `the address ${JSON.stringify(text)} of ${from} is ${refusal}` };
  const family = isIP(text) === 4 ? 'IPv4' : 'IPv6';
  const { address } = new SocketAddress({ address: text, family: family === 'IPv4' ? 'ipv4' : 'ipv6' });
  return { kind: 'address', address, family, from };
}
