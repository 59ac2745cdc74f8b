// Makes the sandbox look like a modern node to a container runtime. Runs before each test file and keeps existing mounts.
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';

const CGROUP2_MAGIC = 0x6367_7270;
const mount = (...args: readonly string[]) => execFileSync('mount', args, { stdio: 'pipe' });

// As systemd does: mount namespaces created from here receive mounts below /run.
mount('--make-shared', '/run');
// crun rejects machines with both cgroup hierarchies.
if (statfsSync('/sys/fs/cgroup').type !== CGROUP2_MAGIC) mount('-t', 'cgroup2', 'cgroup2', '/sys/fs/cgroup');

/** Restores the state after a boot: the first `ip netns add` makes /run/netns a separate mount. */
export function dropNetnsMount(): void {
  // The host may have mounted /run/netns too. That mount is hidden below the sandbox's /run, and does not count.
  const isMount = () => {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' '));
    const run = mounts.findLast((fields) => fields[4] === '/run')?.[0];
    return mounts.some(([, parent, , , at]) => at === '/run/netns' && parent === run);
  };
  if (isMount()) execFileSync('umount', ['--recursive', '--lazy', '/run/netns']);
  if (isMount()) throw new Error('/run/netns was mounted more than once');
}
