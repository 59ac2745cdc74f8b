// Identifies this host independently of its name, by the kernel's boot id. All containers of a host share it; a reboot changes it.
import { readFileSync } from 'node:fs';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Empty if unreadable. Hosts are then distinguished by name alone. */
export function hostIdentity(file = BOOT_ID): string {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f-]{36}$/.test(text) ? text : '';
  } catch {
    return '';
  }
}
