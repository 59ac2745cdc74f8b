// Kernel facts about a process: open descriptors, and the netns and name of each thread. Tests compare them before and after.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Number of open descriptors. The descriptor that reads the directory is in every count, so differences are exact. */
export function openDescriptors(pid: number | 'self' = 'self'): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The sockets and pipes among the open descriptors. */
export function openSocketsAndPipes(pid: number | 'self' = 'self'): { sockets: number; pipes: number } {
  const open = { sockets: 0, pipes: 0 };
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
      if (target.startsWith('socket:')) open.sockets += 1;
      if (target.startsWith('pipe:')) open.pipes += 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // closed during this loop
    }
  }
  return open;
}

/** The distinct network namespaces of the threads of a process. More than one means that a thread stayed in a tenant's netns. */
export function threadNetns(pid: number | 'self' = 'self'): string[] {
  return [...new Set(ofThreads(pid, (thread) => readlinkSync(`${thread}/ns/net`)))];
}

/** Thread names, as `top -H` shows them. */
export function threadNames(pid: number): string[] {
  return ofThreads(pid, (thread) => readFileSync(`${thread}/comm`, 'utf8').trim());
}

function ofThreads(pid: number | 'self', look: (thread: string) => string): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return [look(`/proc/${pid}/task/${task}`)];
    } catch (error) {
      // The thread ended before or after the file was opened.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return [];
    }
  });
}
