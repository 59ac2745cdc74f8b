// Which host this is, whatever it calls itself: the kernel's boot id. The same in every container of a host; another after a restart.
import { readFileSync } from 'node:fs';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Empty where it cannot be read: then hosts are told apart by name alone. */
export function hostIdentity(file = BOOT_ID): string {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f-]{36}$/.test(text) ? text : '';
  } catch {
    return '';
  }
}
