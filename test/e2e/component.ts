// One process of the real Kubernetes, started from the testbed's binary (or KUBEBUILDER_ASSETS) with its own log file. It ends with the
// test. The sandbox ends processes that a killed test leaves behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type ComponentName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kube-proxy'
  | 'kubelet'
  | 'kubectl'
  | 'selector-judge'
  | 'coredns';

/** The logs of a run. They are outside the sandbox and stay readable after a failure. */
export const LOGS =
  process.env.ISTHMUS_E2E_LOGS ?? fileURLToPath(new URL('../../.cache/e2e-logs', import.meta.url));

/** The command that starts a component: `testbed etcd …`, or the component's own binary. */
export function componentCommand(name: ComponentName, args: readonly string[]): [string, string[]] {
  const { ISTHMUS_TESTBED: testbed, ISTHMUS_TESTBED_ASSETS: assets } = process.env;
  if (assets !== undefined) return [join(assets, name), [...args]];
  if (testbed !== undefined) return [testbed, [name, ...args]];
  throw new Error('no testbed: these tests run with `npm run test:e2e`, which builds it');
}

let serial = 0;
/** The processes of this test file, in start order. */
const started: LoggedProcess[] = [];

const newest = (): LoggedProcess[] => [...new Map(started.map((each) => [each.name, each])).values()];

/** Whether a process ended unexpectedly: then the awaited condition cannot come true. */
export const anyUnexpectedExit = (): boolean => newest().some((each) => each.hasUnexpectedExit);

/** The first text to read after a failed test: processes that ended unexpectedly, and the last log lines of every running Isthmus. */
export function lastLogLines(count = 12): string {
  const relevant = newest().filter(
    (each) => each.hasUnexpectedExit || (each.name.startsWith('isthmus-') && each.running),
  );
  return relevant
    .map((each) => `${each.hasUnexpectedExit ? `${each.name} HAS ENDED; ` : ''}${each.lastLines(count)}`)
    .join('\n');
}

export interface ProcessOptions {
  /** The name of the log. */
  readonly label: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A process that writes its output to a file outside the sandbox. */
export class LoggedProcess {
  readonly name: string;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #asked = false;

  constructor(command: string, args: readonly string[], { label, env = {} }: ProcessOptions) {
    mkdirSync(LOGS, { recursive: true });
    serial += 1; // a second start with the same label gets a separate log
    this.name = label;
    this.logFile = join(LOGS, `${String(serial).padStart(2, '0')}-${label}.log`);
    const log = openSync(this.logFile, 'a');
    this.#child = spawn(command, [...args], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env },
    });
    closeSync(log);
    this.#exited = once(this.#child, 'exit').catch(() => {}); // `error`: the process never started, and `running` is false
    started.push(this);
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && this.#child.pid !== undefined;
  }

  /** The process ended, and the test did not stop it. */
  get hasUnexpectedExit(): boolean {
    return !this.running && !this.#asked;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** The last output, for failure messages. */
  lastLines(count = 15): string {
    const lines = readFileSync(this.logFile, 'utf8').trimEnd().split('\n');
    return `the last lines of ${this.logFile}:\n${lines.slice(-count).join('\n')}`;
  }

  signal(name: NodeJS.Signals): void {
    this.#asked = true;
    this.#child.kill(name);
  }

  async ended(): Promise<void> {
    this.#asked = true;
    if (this.running) await this.#exited;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM', graceMs = 30_000): Promise<void> {
    if (!this.running) return;
    this.signal(signal);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), graceMs);
    await this.#exited;
    clearTimeout(timer);
  }
}

export interface ComponentOptions {
  readonly label?: string;
  /** The network namespace of the process; by default that of the test. */
  readonly netns?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

export class Component extends LoggedProcess {
  constructor(
    name: ComponentName,
    args: readonly string[],
    { label = name, netns, env }: ComponentOptions = {},
  ) {
    const inside = netns === undefined ? [] : ['ip', 'netns', 'exec', netns];
    const [program, own] = componentCommand(name, args);
    const [command, ...rest] = [...inside, program, ...own] as [string, ...string[]];
    super(command, rest, { label, ...(env !== undefined && { env }) });
  }
}
