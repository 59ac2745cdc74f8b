// Gives a sandbox cgroups of its own in each v1 hierarchy, below those of this process, for tests that run a kubelet. Unlike namespaces
// and mounts, cgroups do not end with their processes. A process outside the sandbox removes them, also after this one was killed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MissingError } from '../setup/problems.mjs';
import { atTheEnd } from './at-the-end.mjs';

const ROOT = '/sys/fs/cgroup';
/** The v1 hierarchies that kubelet, containerd and runc use. The named one is optional. */
const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'];
const NAMED = 'systemd';

/** `<hierarchy> -> <path of this process>`, from lines such as `4:memory:/some/group` or `9:name=systemd:/`. */
export function hierarchies(text) {
  const found = text
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      return names ? names.split(',').map((name) => [name.replace(/^name=/, ''), path]) : [];
    });
  return new Map(found);
}

let made = 0;

/** Removes the cgroups, in at most a minute: processes of a killed sandbox end within moments. */
const REMOVE = `
for attempt in $(seq 1 120); do
  left=
  for group in "$@"; do
    [ -d "$group" ] || continue
    find "$group" -depth -type d -exec rmdir {} \\; 2>/dev/null
    [ -d "$group" ] && left=$group
  done
  [ -z "$left" ] && exit 0
  sleep 0.5
done
echo "! $left is left behind" >&2
`;

/** Throws a MissingError on a machine without cgroup v1. */
export function requireCgroups() {
  const paths = hierarchies(readFileSync('/proc/self/cgroup', 'utf8'));
  const missing = CONTROLLERS.filter((name) => !paths.has(name) || !existsSync(join(ROOT, name, 'tasks')));
  if (missing.length === 0) return;
  throw new MissingError([
    {
      what: `the nodes of this test need cgroup v1 with the controllers ${missing.join(', ')} in ${ROOT}`,
      fix: 'boot with systemd.unified_cgroup_hierarchy=0; nodes on cgroup v2 alone are not implemented',
    },
  ]);
}

/** Returns the cgroup of each hierarchy, and `close`, which resolves when they are gone. */
export function makeCgroups() {
  requireCgroups();
  const paths = hierarchies(readFileSync('/proc/self/cgroup', 'utf8'));
  made += 1;
  const name = `isthmus-nodes-${process.pid}-${made}`;
  const used = [...CONTROLLERS, NAMED].filter((each) => existsSync(join(ROOT, each, 'tasks')));
  const groups = Object.fromEntries(
    used.map((each) => [each, join(ROOT, each, paths.get(each) ?? '/', name)]),
  );
  for (const group of Object.values(groups)) mkdirSync(group);
  for (const setting of groups.cpuset === undefined ? [] : ['cpuset.cpus', 'cpuset.mems'])
    writeFileSync(join(groups.cpuset, setting), readFileSync(join(groups.cpuset, '..', setting)));
  return { groups, close: atTheEnd(REMOVE, ...Object.values(groups)) };
}
