// Runs the built program as users run it. Gives access to its log and its admin port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClusterView, StatusView } from '../../src/telemetry/status/status.ts';
import { undocumentedFields } from './status-fields.ts';
import { until, WAIT_MS, within } from './tcp.ts';
import { traced } from './traced.ts';

export const mainScript = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export type LoggedLine = Record<string, unknown> & { readonly msg: string; readonly level: string };

/** A command and its environment. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

export class Isthmus {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-test-clusters-'));
  readonly log: LoggedLine[] = [];
  /** Added to the environment of the process. */
  readonly environment: Record<string, string> = {};
  /** The value of `--source`; by default a directory of this instance. */
  source = `file:${this.directory}`;
  /** null omits the flag. */
  listen: string | null = '127.0.0.1:0';
  admin = '127.0.0.1:0';
  /** A command that starts the program and is replaced by it. */
  within: readonly string[] = [];
  /** Not `warn`: at that level the program does not log its start, and `start` could not detect when it is ready. */
  logLevel: 'debug' | 'info' = 'debug';
  /** The command for these arguments of the program; by default it runs with the Node of the test. */
  launch = (args: readonly string[]): Launch => {
    const [command, ...rest] = [...this.within, ...traced(process.execPath, mainScript, ...args)];
    return { command: command as string, args: rest, env: { ...process.env, ...this.environment } };
  };
  #child: ChildProcess | null = null;
  #closed: Promise<unknown> | null = null;
  /** The address for clients. It differs from loopback when the instance has its own network. */
  host = '127.0.0.1';
  port = 0;
  adminPort = 0;

  writeManifest(file: string, text: string): void {
    writeFileSync(join(this.directory, file), text);
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  async start(...flags: readonly string[]): Promise<void> {
    const args = ['run', '--source', this.source, '--admin', this.admin];
    if (this.listen !== null) args.push('--listen', this.listen);
    args.push('--log-format', 'json', '--log-level', this.logLevel, ...flags);
    const { command, args: all, env } = this.launch(args);
    const child = spawn(command, all, { stdio: ['ignore', 'pipe', 'inherit'], env });
    this.#child = child;
    this.#closed = once(child, 'close');
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.log.push(JSON.parse(line) as LoggedLine),
    );
    await until('isthmus is serving', () => this.#logged('serving') !== undefined || child.exitCode !== null);
    const serving = this.#logged('serving');
    if (serving === undefined) throw new Error(`isthmus ended: ${JSON.stringify(this.log.at(-1))}`);
    this.port = portOf(serving.listen);
    this.adminPort = portOf(serving.admin);
  }

  async get(path: string): Promise<{ status: number; body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.adminPort}${path}`);
    return { status: response.status, body: await response.text() };
  }

  async status(): Promise<StatusView> {
    const status = JSON.parse((await this.get('/status')).body) as StatusView;
    const missing = undocumentedFields(status);
    if (missing.length > 0) throw new Error(`docs/reference/status.md has no ${missing.join(', ')}`);
    return status;
  }

  async untilState(name: string, state: string, milliseconds = WAIT_MS): Promise<ClusterView> {
    const end = performance.now() + milliseconds;
    for (;;) {
      const cluster = (await this.status()).clusters.find((each) => each.name === name);
      if (cluster?.state === state) return cluster;
      if (performance.now() > end) {
        throw new Error(
          `${name} is ${cluster?.state} (${cluster?.reason}), waited ${milliseconds} ms for ${state}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The record of a connection that meets the condition. */
  async record(condition: (line: LoggedLine) => boolean): Promise<LoggedLine> {
    const find = () => this.log.find((line) => line.outcome !== undefined && condition(line));
    await until('the record of a connection', () => find() !== undefined);
    return find() as LoggedLine;
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** The exit code, after the process has ended by itself and all its output has been read. */
  async ended(milliseconds = WAIT_MS): Promise<number | null> {
    await within(milliseconds, 'the end of isthmus', this.#closed as Promise<unknown>);
    await heard();
    return (this.#child as ChildProcess).exitCode;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await within(WAIT_MS, 'the exit of isthmus', once(child, 'exit'));
      await heard();
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  #logged(msg: string): LoggedLine | undefined {
    return this.log.find((line) => line.msg === msg);
  }
}

/** Lets servers in this process read what an ended process sent: the end and the data can arrive in either order. */
async function heard(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

function portOf(endpoint: unknown): number {
  return Number(String(endpoint).split(':').at(-1));
}

/** An OpenStackCluster as `kubectl get -o yaml` shows it, without a floating IP. */
export function manifest(options: {
  name: string;
  networkId: string;
  address: string;
  port?: number;
}): string {
  const { name, networkId, address, port = 6443 } = options;
  return `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata:
  name: ${name}-abcde
  namespace: magnum-system
  labels: { cluster.x-k8s.io/cluster-name: ${name} }
spec:
  disableAPIServerFloatingIP: true
  apiServerPort: ${port}
status:
  network: { id: ${networkId} }
  apiServerLoadBalancer: { internalIP: "${address}" }
`;
}
