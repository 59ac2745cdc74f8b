// Runs a command in its own mount, network and PID namespaces (plus a user namespace without root). The sandbox has an empty /run,
// which also holds its temporary files, and a loopback that is up. All its processes end with this one. The kernel then removes
// its namespaces, mounts and sockets, so nothing remains on the machine.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { MissingError, requireTools } from '../setup/problems.mjs';

const SHARED = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const MODES = {
  root: SHARED,
  user: ['--user', '--map-root-user', ...SHARED],
};

const PREPARE =
  'mount -t tmpfs -o mode=755 isthmus-sandbox /run && mkdir /run/netns /run/tmp && ip link set lo up';

// PID 1 of the sandbox. It reaps processes and forwards signals. This process holds the other end of descriptor 3. When that end
// closes, even through SIGKILL, PID 1 kills everything in the sandbox.
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
  const tried = attempts.map(({ mode, error }) => `as ${mode}: ${error}`).join('; ');
  const isRoot = process.getuid() === 0;
  return new MissingError([
    {
      what: `this machine does not allow new namespaces (${tried})`,
      fix: isRoot
        ? 'in a container: run it with CAP_SYS_ADMIN and CAP_NET_ADMIN and an unmasked /proc (docker run --privileged, or a VM)'
        : 'run it as root, or allow unprivileged user namespaces: ' +
          'sysctl -w user.max_user_namespaces=15000 (old Debian: kernel.unprivileged_userns_clone=1; ' +
          'Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)',
    },
  ]);
}

/** Tries each set of unshare arguments and returns the first one that works on this machine. */
function workingArguments() {
  const attempts = [];
  for (const mode of process.getuid() === 0 ? ['root', 'user'] : ['user']) {
    const { status, stderr } = spawnSync('unshare', [...MODES[mode], 'sh', '-c', PREPARE], {
      encoding: 'utf8',
      timeout: 20_000,
    });
    if (status === 0) return MODES[mode];
    attempts.push({ mode, error: (stderr || '').trim().split('\n')[0] || `exit code ${status}` });
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

/** Identifies the process that started this one. npm inserts a shell in between; when npm dies, that shell gets another parent. */
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

/** Exits when npm dies. SIGKILL to npm does not end this process by itself. The closed lifeline then ends the sandbox. */
export function leaveWithNpm() {
  const ours = lineage();
  setInterval(() => lineage() !== ours && process.exit(1), 500).unref();
}

/** Throws a MissingError if this machine cannot run a sandbox. */
export function requireSandbox() {
  requireTools(['unshare', 'mount', 'ip', 'openssl']);
  workingArguments();
}

/**
 * Resolves with the exit code of the command. `onStart` receives a function that returns the sandbox's root directory as seen from
 * outside (/proc/<its PID 1>/root). The function returns null while the sandbox does not run.
 */
export function runInSandbox(command, args, { cwd, env, onStart = () => {} }) {
  requireTools(['unshare', 'mount', 'ip']);
  const mode = workingArguments();
  return new Promise((resolve, reject) => {
    // The child runs in its own session. Ctrl-C reaches only this process, and the command gets each signal exactly once.
    const child = spawn('unshare', [...mode, 'sh', '-c', INIT, 'isthmus-sandbox', command, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    });
    child.stdio[3].on('error', () => {}); // expected when the sandbox ends first and closes its end of the lifeline
    onStart(() => {
      const [init] = childrenOf(child.pid);
      return init === undefined ? null : `/proc/${init}/root`;
    });
    let signals = 0;
    const forward = (signal) => {
      signals += 1;
      if (signals > 3) child.stdio[3].destroy(); // repeated signals: stop waiting and kill the sandbox
      for (const pid of childrenOf(child.pid)) {
        try {
          process.kill(pid, signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
        } catch {} // the process has just exited
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
