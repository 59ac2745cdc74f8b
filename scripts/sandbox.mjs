// Runs a command in mount, network and PID namespaces of its own (and a user namespace when we are not root), with an empty
// /run that also holds its temporary files, and a loopback that is up. Nothing it makes can outlive it or leave the machine: when the last process of the sandbox
// dies, and all of them die with us, the kernel takes its namespaces, mounts and sockets down.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { MissingError, requireTools } from './problems.mjs';

const SHARED = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const WAYS = {
  root: SHARED,
  user: ['--user', '--map-root-user', ...SHARED],
};

const PREPARE =
  'mount -t tmpfs -o mode=755 isthmus-sandbox /run && mkdir /run/netns /run/tmp && ip link set lo up';

// PID 1 of the sandbox. It reaps, forwards signals, and ends everything when descriptor 3, whose other end we hold, closes:
// that happens even when we are killed with -9.
const INIT = `
set -u
${PREPARE} || exit 125
export TMPDIR=/run/tmp ISTHMUS_TEST_SANDBOX=1
( read -r _ <&3; kill -KILL -1 ) &
"$@" <&0 3<&- &
child=$!
trap 'kill -TERM $child 2>/dev/null' TERM
trap 'kill -INT $child 2>/dev/null' INT
while :; do
  wait $child; code=$?
  kill -0 $child 2>/dev/null || exit $code
done
`;

function capabilityProblem(attempts) {
  const tried = attempts.map(({ way, error }) => `as ${way}: ${error}`).join('; ');
  const isRoot = process.getuid() === 0;
  return new MissingError([
    {
      what: `this machine does not let us make namespaces of our own (${tried})`,
      fix: isRoot
        ? 'in a container: run it with CAP_SYS_ADMIN and CAP_NET_ADMIN and an unmasked /proc (docker run --privileged, or a VM)'
        : 'run it as root, or allow unprivileged user namespaces: ' +
          'sysctl -w user.max_user_namespaces=15000 (Debian of old: kernel.unprivileged_userns_clone=1; ' +
          'Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)',
    },
  ]);
}

/** The unshare arguments that work here, found by trying. */
function workingWay() {
  const attempts = [];
  for (const way of process.getuid() === 0 ? ['root', 'user'] : ['user']) {
    const { status, stderr } = spawnSync('unshare', [...WAYS[way], 'sh', '-c', PREPARE], {
      encoding: 'utf8',
      timeout: 20_000,
    });
    if (status === 0) return WAYS[way];
    attempts.push({ way, error: (stderr || '').trim().split('\n')[0] || `exit code ${status}` });
  }
  throw capabilityProblem(attempts);
}

function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(/\s+/)
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

/** Who started us. npm puts a shell between itself and us; when npm dies, the shell lives on with another parent. */
function lineage() {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return `${parent}`;
  try {
    const [, name, grandparent] = /^\d+ \((.*)\) \S (\d+)/s.exec(
      readFileSync(`/proc/${parent}/stat`, 'utf8'),
    );
    return /^(sh|dash|bash|ash|busybox)$/.test(name) ? `${parent} of ${grandparent}` : `${parent}`;
  } catch {
    return `${parent}`;
  }
}

/** npm killed with -9 leaves us behind: then we go, and the lifeline takes the sandbox along. */
export function leaveWithNpm() {
  const ours = lineage();
  setInterval(() => lineage() !== ours && process.exit(1), 500).unref();
}

/** Throws what is missing for a sandbox on this machine. */
export function requireSandbox() {
  requireTools(['unshare', 'mount', 'ip', 'openssl']);
  workingWay();
}

/**
 * Resolves with the exit code of the command. `onStart` gets a function that names the sandbox's root directory as we can
 * reach it from outside (/proc/<its PID 1>/root), or null before and after.
 */
export function runInSandbox(command, args, { cwd, env, onStart = () => {} }) {
  requireTools(['unshare', 'mount', 'ip']);
  const way = workingWay();
  return new Promise((resolve, reject) => {
    // A session of its own: Ctrl-C then reaches only us, and the command gets each signal exactly once.
    const child = spawn('unshare', [...way, 'sh', '-c', INIT, 'isthmus-sandbox', command, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    });
    child.stdio[3].on('error', () => {}); // the sandbox ended first: its end of the lifeline is gone, as it should be
    onStart(() => {
      const [init] = childrenOf(child.pid);
      return init === undefined ? null : `/proc/${init}/root`;
    });
    let signals = 0;
    const forward = (signal) => {
      signals += 1;
      if (signals > 3) child.stdio[3].destroy(); // somebody is in a hurry
      for (const pid of childrenOf(child.pid)) {
        try {
          process.kill(pid, signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
        } catch {} // it ended in this very moment
      }
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      for (const each of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(each, forward);
      resolve(code ?? (signal === 'SIGKILL' ? 137 : 143));
    });
  });
}
