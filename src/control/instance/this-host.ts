// Reads what this process knows of its host: the address of the default route, and the boot id. Never throws.
import { readFileSync } from 'node:fs';
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

/** The address of the default route's interface in this process's own netns. A failure is `kind: 'none'` with a reason. */
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

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/**
 * Identifies this host independently of its name, by the kernel's boot id. All containers of a host share it; a reboot changes it. Empty if
 * unreadable. Hosts are then distinguished by name alone.
 */
export function hostIdentity(file = BOOT_ID): string {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f-]{36}$/.test(text) ? text : '';
  } catch {
    return '';
  }
}
