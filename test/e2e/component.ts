// One process of the real Kubernetes: started from the testbed's binary (or KUBEBUILDER_ASSETS), with a log file of its own, and
// gone when the test is over. The sandbox takes along whatever a killed test leaves behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type ComponentName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-proxy'
  | 'kubectl'
  | 'selector-judge';

/** Where the logs of a run stay: outside the sandbox, so that they can be read after a failure. */
export const LOGS = fileURLToPath(new URL('../../.cache/e2e-logs', import.meta.url));

/** The command that starts a component: `testbed etcd …`, or the component's own binary. */
export function componentCommand(name: ComponentName, args: readonly string[]): [string, string[]] {
  const { ISTHMUS_TESTBED: testbed, ISTHMUS_TESTBED_ASSETS: assets } = process.env;
  if (assets !== undefined) return [join(assets, name), [...args]];
  if (testbed !== undefined) return [testbed, [name, ...args]];
  throw new Error('no testbed: these tests run with `npm run test:e2e`, which builds it');
}

export class Component {
  readonly name: string;
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(
    name: ComponentName,
    args: readonly string[],
    { label = name }: { readonly label?: string } = {},
  ) {
    mkdirSync(LOGS, { recursive: true });
    this.name = label;
    this.logFile = join(LOGS, `${label}-${process.pid}.log`);
    const log = openSync(this.logFile, 'a');
    const [command, all] = componentCommand(name, args);
    this.#child = spawn(command, all, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#exited = once(this.#child, 'exit').catch(() => {}); // `error`: it never started, and `running` says so
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && this.#child.pid !== undefined;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** For failure messages: what it said last. */
  lastLines(count = 15): string {
    const lines = readFileSync(this.logFile, 'utf8').trimEnd().split('\n');
    return `the last lines of ${this.logFile}:\n${lines.slice(-count).join('\n')}`;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM', graceMs = 10_000): Promise<void> {
    if (!this.running) return;
    this.#child.kill(signal);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), graceMs);
    await this.#exited;
    clearTimeout(timer);
  }
}
