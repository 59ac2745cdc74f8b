// Whether mounts that are made elsewhere later are seen below a directory, and what they changed there, read off /proc/self/mountinfo.
// Pure.

export interface MountPlace {
  /** The directory is the root of a mount of its own: in a container, a volume. */
  readonly isMountPoint: boolean;
  /** `private`: what the host mounts there later is never seen here. */
  readonly propagation: 'shared' | 'slave' | 'private';
  /**
   * It was mounted read-only, and can be written all the same: a mount that came from the host later lies over it. Whether a mount is
   * read-only is its own affair, and the host's is not.
   */
  readonly lostReadOnly: boolean;
}

/** null where no line of it leads to the directory. `path` is absolute, without links. */
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
    // Of two mounts on one place the later hides the other.
    if (!isBelow(path, point) || point.length < (best?.point.length ?? 0)) continue;
    hidesReadOnly = best?.point === point && (hidesReadOnly || best.readOnly);
    const readOnly = (fields[5] as string).split(',').includes('ro');
    best = { point, readOnly, options: fields.slice(6, end) };
  }
  if (best === null) return null;
  const has = (kind: string) => best.options.some((option) => option.startsWith(`${kind}:`));
  const propagation = has('shared') ? 'shared' : has('master') ? 'slave' : 'private';
  return { isMountPoint: best.point === path, propagation, lostReadOnly: hidesReadOnly && !best.readOnly };
}

const isBelow = (path: string, place: string): boolean =>
  path === place || path.startsWith(place === '/' ? '/' : `${place}/`);

/** Blanks, tabs, line ends and backslashes are written as `\040` and so on. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
