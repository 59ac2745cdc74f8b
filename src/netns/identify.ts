// Identifies one file in the netns directory: returns the identity of its network namespace, or the reason why it is not one. It
// keeps no handle open, because a handle would keep a deleted namespace and its devices alive.
import { type Dirent, lstatSync, statfsSync } from 'node:fs';
import type { NativeAddon } from './native.ts';

export type Identified =
  | { readonly kind: 'netns'; readonly identity: string }
  | { readonly kind: 'problem'; readonly reason: string }
  /** The file was removed after the directory was listed. */
  | { readonly kind: 'vanished' };

const NSFS_MAGIC = 0x6e736673;

export function identify(addon: Pick<NativeAddon, 'openNetns'>, path: string, file: Dirent): Identified {
  // Never open devices and FIFOs: open() can have side effects. Follow symbolic links: some tools create them.
  const wrong = wrongKind(file);
  if (wrong !== null) return { kind: 'problem', reason: `${wrong}, not a network namespace` };
  try {
    const netns = addon.openNetns(path);
    const { identity } = netns;
    netns.close();
    return { kind: 'netns', identity };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !exists(path)) return { kind: 'vanished' };
    return { kind: 'problem', reason: reasonFor(code, message, path) };
  }
}

function wrongKind(file: Dirent): string | null {
  if (file.isDirectory()) return 'a directory';
  if (file.isFIFO()) return 'a FIFO';
  if (file.isSocket()) return 'a Unix socket';
  if (file.isBlockDevice() || file.isCharacterDevice()) return 'a device';
  return null;
}

function reasonFor(code: string | undefined, message: string, path: string): string {
  switch (code) {
    case 'ENOTNETNS':
      return isNamespace(path)
        ? 'a namespace of another kind (mount, PID, …), not a network namespace'
        : 'a plain file on which no network namespace is mounted: a leftover of a deleted one, or a mount that is not ' +
            'visible here (a container needs this directory with mountPropagation: HostToContainer)';
    case 'ENOENT':
      return 'a symbolic link to a file that does not exist';
    case 'ELOOP':
      return 'a symbolic link that points to itself';
    case 'EACCES':
    case 'EPERM':
      return `not permitted (${code}): entering a network namespace needs CAP_SYS_ADMIN; ${message}`;
    default:
      return `cannot be opened: ${message}`;
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isNamespace(path: string): boolean {
  try {
    return statfsSync(path).type === NSFS_MAGIC;
  } catch {
    return false; // only affects the wording of the reason
  }
}
