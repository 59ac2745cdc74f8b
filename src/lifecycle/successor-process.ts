// Starts the program that is now on disk as the successor. It becomes a child of the supervisor, not of this process: this process
// will exit, and a supervisor gets the exit status of its own children only. This process keeps one end of a pipe, which closes when the
// successor ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** Runs in a short-lived process. When it exits, the supervisor becomes the parent of the successor. */
const LAUNCHER = `
const [program, ...args] = process.argv.slice(1);
const child = require('node:child_process').spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 3] });
child.once('error', (error) => { console.error(error.message); process.exit(1); });
child.once('spawn', () => { require('node:fs').writeSync(3, child.pid + '\\n'); process.exit(0); });
`;

const LAUNCH_MS = 10_000;

export interface SuccessorProcess {
  readonly pid: number;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  kill(): void;
  /** Stops watching the process. */
  forget(): void;
}

/** The command line of this process. The files that it names can belong to a newer version now. */
export function ownCommand(): readonly string[] {
  return [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
}

/** Throws if the program cannot be started. */
export async function startSuccessor(
  command: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<SuccessorProcess> {
  const launcher = spawn(process.execPath, ['-e', LAUNCHER, '--', ...command], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    env: environment,
  });
  const lifeline = launcher.stdio[3] as Socket;
  const ended = new Promise<void>((resolve) => lifeline.once('close', resolve));
  lifeline.on('error', () => {}); // `close` follows
  let said = '';
  lifeline.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const timer = setTimeout(() => launcher.kill('SIGKILL'), LAUNCH_MS);
  const [code] = (await once(launcher, 'exit')) as [number | null];
  clearTimeout(timer);
  if (code !== 0) throw new Error('the program could not be started');
  while (!said.includes('\n') && !lifeline.destroyed) await Promise.race([once(lifeline, 'data'), ended]);
  const pid = Number(said);
  if (!(pid > 0)) throw new Error('the program could not be started');
  return {
    pid,
    ended,
    kill: () => {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    },
    forget: () => lifeline.destroy(),
  };
}
