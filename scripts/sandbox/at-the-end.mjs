// Runs a shell script when this process ends, even by SIGKILL. It removes what a sandbox and an exit handler leave.
import { spawn } from 'node:child_process';

/** Starts a process that waits for the end of this one. The returned function runs the script now, and resolves when it is done. */
export function atTheEnd(script, ...args) {
  const waiting = `trap '' HUP INT TERM; read -r _; ${script}`;
  const child = spawn('sh', ['-c', waiting, 'isthmus-at-the-end', ...args], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const done = new Promise((resolve) => child.on('close', resolve));
  return () => {
    child.stdin.end();
    return done;
  };
}
