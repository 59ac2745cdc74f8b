// Makes the sandbox look like a node of today to a container runtime. Before each test file; what is there already stays.
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';

const CGROUP2_MAGIC = 0x6367_7270;
const mount = (...args: readonly string[]) => execFileSync('mount', args, { stdio: 'pipe' });

// As systemd leaves it: mounts below are seen in the mount namespaces that come from here.
mount('--make-shared', '/run');
// crun refuses machines that have the old and the new hierarchy side by side.
if (statfsSync('/sys/fs/cgroup').type !== CGROUP2_MAGIC) mount('-t', 'cgroup2', 'cgroup2', '/sys/fs/cgroup');

/** As after the boot of a node: the first `ip netns add` makes /run/netns a mount of its own, and no test has done so yet. */
export function dropNetnsMount(): void {
  const isMount = () => / \/run\/netns /.test(readFileSync('/proc/self/mountinfo', 'utf8'));
  if (isMount()) execFileSync('umount', ['--recursive', '--lazy', '/run/netns']);
  if (isMount()) throw new Error('/run/netns was mounted more than once');
}
