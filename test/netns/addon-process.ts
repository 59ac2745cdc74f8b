// Runs pieces of JavaScript with the addon in a process of their own: those that die, run out of descriptors, or count them
// exactly. Inside, `native`, `descriptors()`, `threadNetns()`, `caught(fn)`, `tick()` and Node's modules are at hand.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const addonPath = process.env.ISTHMUS_ADDON ?? `${root}build/Release/linux_netns.node`;
export const sanitized = process.env.ISTHMUS_ADDON?.includes('build-sanitize') === true;

export const prologue = `
'use strict';
const fs = require('node:fs');
const { Worker } = require('node:worker_threads');
const addonPath = ${JSON.stringify(addonPath)};
const native = require(addonPath);
const descriptors = () => fs.readdirSync('/proc/self/fd').length;
const threadNetns = () => [...new Set(fs.readdirSync('/proc/self/task').flatMap((task) => {
  try { return [fs.readlinkSync('/proc/self/task/' + task + '/ns/net')]; } catch { return []; }
}))];
const caught = (work) => {
  try { work(); } catch (error) {
    const { message, code, errno, syscall, path } = error;
    return { message, code, errno, syscall, path };
  }
  return null;
};
const tick = () => new Promise((resolve) => setTimeout(resolve, 5));
const report = (value) => fs.writeSync(1, JSON.stringify(value));
`;

export interface Ended {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Caught {
  message: string;
  code: string;
  errno: number;
  syscall: string;
  path: string;
}

/** `wrap` is a command that starts its arguments, `['unshare', '-Ur']`; `bare` leaves all of the above out. */
export function runNode(
  script: string,
  options: {
    bare?: boolean;
    wrap?: readonly string[];
    flags?: readonly string[];
    env?: NodeJS.ProcessEnv;
  } = {},
): Ended {
  // Statements at the top level may await; the process ends by itself or by what the script does.
  const source = `${options.bare ? '' : prologue}\n(async () => {\n${script}\n})();`;
  const [command, ...args] = [
    ...(options.wrap ?? []),
    process.execPath,
    '--unhandled-rejections=strict',
    ...(options.flags ?? []),
    '-e',
    source,
  ];
  const { status, signal, stdout, stderr } = spawnSync(command!, args, {
    encoding: 'utf8',
    timeout: 150_000,
    killSignal: 'SIGKILL',
    env: { ...process.env, ...options.env },
  });
  return { status, signal, stdout, stderr };
}

/** What the script reported; whatever else happened to it than a clean end is an error. */
export function reportOf<T>(ended: Ended): T {
  if (ended.status !== 0 || ended.stdout === '') {
    throw new Error(`the child ended with ${ended.signal ?? ended.status}: ${ended.stdout}\n${ended.stderr}`);
  }
  return JSON.parse(ended.stdout) as T;
}
