// What a Pod sees of the host's network namespaces. On a host, the first network namespace creates the netns directory. In a Pod, only a
// mount of the host's directory shows its namespaces, so a missing mount is a mistake there. /proc/self/mountinfo shows whether the
// directory sees mounts that the host makes later, and whether such a mount already covers it.
import { existsSync, readFileSync, realpathSync } from 'node:fs';

export interface MountPlace {
  /** Only the root mount contains the directory. In a container, such a directory shows nothing of the host. */
  readonly isOfRoot: boolean;
  /** `private`: mounts that the host makes later never appear here. */
  readonly propagation: 'shared' | 'slave' | 'private';
  /**
   * The directory was mounted read-only but is writable now: a later mount from the host covers it. Read-only is a flag of each single
   * mount, and the host's mount does not have it.
   */
  readonly lostReadOnly: boolean;
}

/** null if no mount contains the directory. Pure. `path` is absolute, without symbolic links. */
export function mountPlace(mountinfo: string, path: string): MountPlace | null {
  let best: {
    readonly point: string;
    readonly readOnly: boolean;
    readonly options: readonly string[];
  } | null = null;
  let hidesReadOnly = false;
  for (const line of mountinfo.split('\n')) {
    // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
    const fields = line.split(' ');
    const end = fields.indexOf('-', 6);
    if (end === -1) continue;
    const point = unescaped(fields[4] as string);
    // Of two mounts at one path the later one hides the earlier one.
    if (!isBelow(path, point) || point.length < (best?.point.length ?? 0)) continue;
    hidesReadOnly = best?.point === point && (hidesReadOnly || best.readOnly);
    const readOnly = (fields[5] as string).split(',').includes('ro');
    best = { point, readOnly, options: fields.slice(6, end) };
  }
  if (best === null) return null;
  const has = (kind: string) => best.options.some((option) => option.startsWith(`${kind}:`));
  const followsHost = has('master') ? 'slave' : 'private';
  return {
    isOfRoot: best.point === '/',
    propagation: has('shared') ? 'shared' : followsHost,
    lostReadOnly: hidesReadOnly && !best.readOnly,
  };
}

const isBelow = (path: string, place: string): boolean =>
  path === place || path.startsWith(place === '/' ? '/' : `${place}/`);

/** The kernel escapes blanks, tabs, newlines and backslashes as octal, such as `\040`. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

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
