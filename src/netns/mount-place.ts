// Reads from /proc/self/mountinfo whether a directory sees mounts that the host makes later, and whether such a mount already covers
// it. Pure.

export interface MountPlace {
  /** No other mount than that of the root covers it. In a container, such a directory shows nothing of the host. */
  readonly isOfRoot: boolean;
  /** `private`: mounts that the host makes later never appear here. */
  readonly propagation: 'shared' | 'slave' | 'private';
  /**
   * The directory was mounted read-only but is writable now: a later mount from the host covers it. Read-only is a flag of each single
   * mount, and the host's mount does not have it.
   */
  readonly lostReadOnly: boolean;
}

/** null if no mount contains the directory. `path` is absolute, without symbolic links. */
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
