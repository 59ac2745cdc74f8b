// Reads the address of the default route's interface in this process's own netns. Never throws: a failure is `kind: 'none'` with a reason.
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import {
  type DefaultRouteAddress,
  defaultRouteAddress,
  ipv4DefaultRoutes,
  ipv6DefaultRoutes,
} from './default-route.ts';

/** /proc/net shows the main thread's netns. The main thread is in the process's own netns whenever other code runs. */
const ROUTES = '/proc/net/route';
const IPV6_ROUTES = '/proc/net/ipv6_route';

export async function readDefaultRouteAddress(): Promise<DefaultRouteAddress> {
  // A kernel without IPv4 or IPv6 lacks the file of that family.
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
    // os.networkInterfaces throws if the system call fails.
    return {
      kind: 'none',
      reason: `the addresses of this host cannot be read (${(error as Error).message})`,
    };
  }
}
