// What a Pod sees of the host's network namespaces. On a host, the first network namespace creates the netns directory. In a Pod, only a
// mount of the host's directory shows its namespaces, so a missing mount is a mistake there.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { type MountPlace, mountPlace } from './mount-place.ts';

/** What to do about a netns directory that shows nothing of the host. */
export const MOUNT_NETNS =
  "In a Pod mount the host's directory as a hostPath with mountPropagation: HostToContainer (docker: :ro,rslave).";

/** null: unknown. */
export function placeOf(directory: string, mountinfo?: string): MountPlace | null {
  try {
    return mountPlace(mountinfo ?? readFileSync('/proc/self/mountinfo', 'utf8'), realpathSync(directory));
  } catch {
    return null;
  }
}

/** Why an empty directory shows nothing of the host; null: the host may have no namespace. Only meaningful in a container. */
export function hiddenHost(directory: string): string | null {
  if (!existsSync(directory)) return `${directory} does not exist in this container`;
  return placeOf(directory)?.isOfRoot === true
    ? `${directory} is not mounted from the host: it belongs to the image of this container`
    : null;
}
