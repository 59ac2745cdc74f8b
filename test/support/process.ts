// What the kernel says about this process: open descriptors and the netns of each thread. Tests compare it before and after.
import { readdirSync, readlinkSync } from 'node:fs';

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Number of open descriptors (the one that reads the directory itself is in both counts, so differences are exact). */
export function openDescriptors(pid: number | 'self' = 'self'): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Of these, the sockets and the pipes. */
export function openSocketsAndPipes(pid: number | 'self' = 'self'): { sockets: number; pipes: number } {
  const open = { sockets: 0, pipes: 0 };
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
      if (target.startsWith('socket:')) open.sockets += 1;
      if (target.startsWith('pipe:')) open.pipes += 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // closed while we looked
    }
  }
  return open;
}

/** The distinct network namespaces in which threads of a process are: exactly one, or a thread crossed tenants. */
export function threadNetns(pid: number | 'self' = 'self'): string[] {
  const seen = new Set<string>();
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      seen.add(readlinkSync(`/proc/${pid}/task/${task}/ns/net`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // the thread ended while we looked
    }
  }
  return [...seen];
}
