// The kernel memory in the queues of TCP sockets, from `ss`: allocated sizes, not only the bytes that applications sent.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Sums over the established connections in this netns (null: the test's own) that match the ss(8) filter. Connections of ended processes
 * do not count.
 */
export async function queueBytes(netns: string | null, filter: string): Promise<number> {
  const ss = ['ss', '-H', '-t', '-n', '-m', 'state', 'established', filter];
  const [command, ...args] = netns === null ? ss : ['ip', 'netns', 'exec', netns, ...ss];
  const { stdout } = await run(command as string, args, { maxBuffer: 64 * 1024 * 1024 });
  let sum = 0;
  // Received and unread (r), handed to the device (t), waiting to be sent or acknowledged (w), and in the backlog (bl).
  for (const [, r, t, w, bl] of stdout.matchAll(
    /skmem:\(r(\d+),rb\d+,t(\d+),tb\d+,f\d+,w(\d+),o\d+,bl(\d+)/g,
  )) {
    sum += Number(r) + Number(t) + Number(w) + Number(bl);
  }
  return sum;
}
