// A cgroup for machines that a sandbox boots. Cgroups are the one thing that does not end with the sandbox's namespaces.
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { MissingError } from '../setup/problems.mjs';
import { atTheEnd } from './at-the-end.mjs';

/** Kills what is left in the cgroup and removes it, in at most 20 seconds. */
const REMOVE = `
for round in $(seq 1 200); do
  echo 1 >"$1/cgroup.kill" 2>/dev/null
  find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
  [ -d "$1" ] || exit 0
  sleep 0.1
done
echo "! $1 is left behind" >&2
`;

/** Returns where cgroup version 2 is mounted; null if it is not. */
function cgroup2() {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  return mounts.find(([, , type]) => type === 'cgroup2')?.[1] ?? null;
}

/** Makes the cgroup. Returns its name below the root, and `remove()`, which resolves when it is gone. */
export function ownCgroup(name) {
  const top = cgroup2();
  const path = join(top ?? '/', `${name}-${process.pid}`);
  try {
    if (top === null) throw new Error('it is not mounted');
    mkdirSync(path);
  } catch (error) {
    throw new MissingError([
      {
        what: `no cgroup (version 2) can be made here: ${error.message}`,
        fix: 'run it as root on a machine with cgroup version 2 (in a container: --privileged --cgroupns=host)',
      },
    ]);
  }
  return { name: basename(path), remove: atTheEnd(REMOVE, path) };
}
