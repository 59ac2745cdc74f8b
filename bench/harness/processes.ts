// Starts processes on chosen cores and reads their kernel statistics. All these processes end with the sandbox.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The load generator and the backend share the first core. The proxy runs on the second: the goals say "one core each". */
export const LOAD_CORE = '0';
export const PROXY_CORE = '1';

export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function spawnPinned(
  cores: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  return spawn('taskset', ['-c', cores, command, ...args], { stdio: ['pipe', 'pipe', 'pipe'], env });
}

/** Runs a command to its end, for at most `seconds`. */
export function runPinned(
  cores: string,
  command: string,
  args: readonly string[],
  seconds: number,
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawnPinned(cores, command, args);
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process exited during the scan
  }
}

/** The process and all its descendants. */
export function family(pid: number): number[] {
  const found = [pid];
  for (const each of found) {
    for (const task of list(`/proc/${each}/task`)) {
      const children = read(`/proc/${each}/task/${task}/children`).trim();
      if (children !== '') found.push(...children.split(' ').map(Number));
    }
  }
  return found;
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** CPU time of all threads in nanoseconds. It comes from schedstat, because a tick in /proc/<pid>/stat is 10 ms. */
export function cpuTimeNs(pids: readonly number[]): number {
  let total = 0;
  for (const pid of pids)
    for (const task of list(`/proc/${pid}/task`))
      total += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0] ?? 0);
  return total;
}

export interface Memory {
  readonly rss: number;
  readonly pss: number;
}

/** Memory in bytes. PSS counts a page once if several processes of one peer share it. */
export function memoryOf(pids: readonly number[]): Memory {
  let rss = 0;
  let pss = 0;
  for (const pid of pids) {
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    rss += 1024 * Number(/^Rss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
    pss += 1024 * Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
  }
  return { rss, pss };
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await ended;
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));
