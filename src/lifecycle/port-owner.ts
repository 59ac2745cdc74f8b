// Finds the process that listens at an address. It sees what /proc shows: the sockets of this netns, and the processes of this PID
// namespace that this user may inspect. Reads only.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

export interface PortOwner {
  readonly pid: number;
  /** The program and its first arguments, for a message. */
  readonly command: string;
}

export interface PortOwnerOptions {
  /** undefined: all addresses. */
  readonly host: string | undefined;
  readonly port: number;
  readonly proc?: string;
}

const LISTEN = '0A';
const MOST_COMMAND_LETTERS = 80;

/** null: no process is visible. */
export function portOwner({ host, port, proc = '/proc' }: PortOwnerOptions): PortOwner | null {
  const inodes = new Set(
    ['tcp', 'tcp6'].flatMap((table) => listeningInodes(textOf(`${proc}/self/net/${table}`), host, port)),
  );
  if (inodes.size === 0) return null;
  for (const pid of pidsIn(proc)) {
    if (!socketsOf(proc, pid).some((inode) => inodes.has(inode))) continue;
    return { pid, command: commandOf(proc, pid) };
  }
  return null;
}

/** The inodes of the listening sockets in a table of the kernel that collide with `host` and `port`. */
export function listeningInodes(table: string, host: string | undefined, port: number): string[] {
  const wanted = host === undefined ? null : hexOf(host);
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const [address = '', hexPort = ''] = local.split(':');
    if (state !== LISTEN || Number.parseInt(hexPort, 16) !== port) return [];
    // A socket for all addresses collides with a socket for any single address, in both directions.
    const collides = wanted === null || /^0+$/.test(wanted) || /^0+$/.test(address) || wanted === address;
    return collides ? [inode] : [];
  });
}

/** The address as the kernel prints it: words of 32 bits, each in the byte order of the machine. */
function hexOf(host: string): string {
  const bytes = host.includes(':') ? bytesOf6(host) : host.split('.').map(Number);
  const words = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.slice(4 * i, 4 * i + 4).reverse());
  return words
    .flat()
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
}

function bytesOf6(host: string): number[] {
  const canonical = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [head = '', tail = ''] = canonical.split('::');
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

function pidsIn(proc: string): readonly number[] {
  try {
    return readdirSync(proc)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Empty for a process that has ended or that this user may not inspect. */
function socketsOf(proc: string, pid: number): readonly string[] {
  const directory = `${proc}/${pid}/fd`;
  try {
    return readdirSync(directory).flatMap((fd) => {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`${directory}/${fd}`)) ?? [];
      return inode === undefined ? [] : [inode];
    });
  } catch {
    return [];
  }
}

function commandOf(proc: string, pid: number): string {
  const [program = '', ...args] = textOf(`${proc}/${pid}/cmdline`).split('\0').filter(Boolean);
  const text = [basename(program), ...args].join(' ').replaceAll(/[^\x20-\x7e]/g, '?');
  return text.length > MOST_COMMAND_LETTERS ? `${text.slice(0, MOST_COMMAND_LETTERS)}…` : text;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
