// Runs JavaScript with the addon in a separate process: code that crashes, runs out of descriptors, or counts them exactly. The code can
// use `native`, `descriptors()`, `threadNetns()`, `caught(fn)`, `tick()` and Node's modules.
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

/** `wrap` is a command that starts its arguments, such as `['unshare', '-Ur']`; `bare` omits all of the above. */
export function runNode(
  script: string,
  options: {
    bare?: boolean;
    wrap?: readonly string[];
    flags?: readonly string[];
    env?: NodeJS.ProcessEnv;
  } = {},
): Ended {
  // Top-level statements may await. The process ends by itself or through the script.
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

/** The report of the script. Any end other than a clean one is an error. */
export function reportOf<T>(ended: Ended): T {
  if (ended.status !== 0 || ended.stdout === '') {
    throw new Error(`the child ended with ${ended.signal ?? ended.status}: ${ended.stdout}\n${ended.stderr}`);
  }
  return JSON.parse(ended.stdout) as T;
}
