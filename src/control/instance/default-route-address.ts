// Asks the kernel for the address of the default route's interface, in the netns of this thread. Every failure is a value.
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import {
  type DefaultRouteAddress,
  defaultRouteAddress,
  ipv4DefaultRoutes,
  ipv6DefaultRoutes,
} from './default-route.ts';

/** Of the main thread's netns: it is always at home when anything else runs. */
const ROUTES = '/proc/net/route';
const IPV6_ROUTES = '/proc/net/ipv6_route';

export async function readDefaultRouteAddress(): Promise<DefaultRouteAddress> {
  // A kernel without one of the two families has no such file.
  const [ipv4, ipv6] = await Promise.all(
    [ROUTES, IPV6_ROUTES].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  try {
    return defaultRouteAddress(
      ipv4DefaultRoutes(ipv4 ?? ''),
      ipv6DefaultRoutes(ipv6 ?? ''),
      networkInterfaces(),
    );
  } catch (error) {
    // os.networkInterfaces throws where the kernel refuses to answer.
    return {
      kind: 'none',
      reason: `the addresses of this host cannot be read (${(error as Error).message})`,
    };
  }
}
