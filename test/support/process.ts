// What the kernel says about this process: open descriptors, the netns and the name of each thread. Tests compare it before and after.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

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
  return [...new Set(ofThreads(pid, (thread) => readlinkSync(`${thread}/ns/net`)))];
}

/** As `top -H` shows them. */
export function threadNames(pid: number): string[] {
  return ofThreads(pid, (thread) => readFileSync(`${thread}/comm`, 'utf8').trim());
}

function ofThreads(pid: number | 'self', look: (thread: string) => string): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return [look(`/proc/${pid}/task/${task}`)];
    } catch (error) {
      // The thread ended while we looked: before the file was opened, or after.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return [];
    }
  });
}
