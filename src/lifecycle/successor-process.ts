// Starts the program that is on disk now in our place. It becomes a child of our own parent, not of us: a supervisor hears of the end
// of its own children only, and we shall be gone. What we keep is one end of a pipe, which closes when it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** Runs in a process of its own, which ends at once: then the one that it started belongs to nobody but the supervisor. */
const LAUNCHER = `
const [program, ...args] = process.argv.slice(1);
const child = require('node:child_process').spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 3] });
child.once('error', (error) => { console.error(error.message); process.exit(1); });
child.once('spawn', () => { require('node:fs').writeSync(3, child.pid + '\\n'); process.exit(0); });
`;

const LAUNCH_MS = 10_000;

export interface SuccessorProcess {
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  kill(): void;
  /** It is no longer our concern how it goes on. */
  forget(): void;
}

/** How we were started ourselves; the files may be those of another version by now. */
export function ownCommand(): readonly string[] {
  return [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
}

/** Throws when it cannot be started at all. */
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
        // It has ended.
      }
    },
    forget: () => lifeline.destroy(),
  };
}
