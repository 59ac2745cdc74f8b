// Runs the real program for the demo, as a user would: `isthmus run` as a process of its own, watched through its admin port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClusterView, StatusView } from '../ops/status.ts';

export class DemoProxy {
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  readonly adminPort: number;
  onLog: (line: string) => void = () => {};

  constructor(options: { manifests: string; listenPort: number; adminPort: number }) {
    this.adminPort = options.adminPort;
    const main = fileURLToPath(new URL('../main.js', import.meta.url));
    const args = [main, 'run', '--source', `file:${options.manifests}`];
    args.push('--listen', `127.0.0.1:${options.listenPort}`, '--admin', `127.0.0.1:${options.adminPort}`);
    args.push('--log-format', 'json', '--log-level', 'debug', '--drain-timeout', '2s');
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.#log.push(line);
        if (this.#log.length > 200) this.#log.shift();
        this.onLog(line);
      });
    }
  }

  get log(): readonly string[] {
    return this.#log;
  }

  async untilReady(): Promise<void> {
    await this.#until('the proxy is ready', async () => (await this.status())?.ready === true);
  }

  async untilState(name: string, state: string): Promise<ClusterView> {
    let found: ClusterView | undefined;
    await this.#until(`${name} is ${state}`, async () => {
      found = (await this.status())?.clusters.find((cluster) => cluster.name === name);
      return found?.state === state;
    });
    return found as ClusterView;
  }

  /** null while the admin port does not answer. */
  status(): Promise<StatusView | null> {
    return new Promise((resolve) => {
      const request = get({ host: '127.0.0.1', port: this.adminPort, path: '/status' }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve(JSON.parse(text) as StatusView));
      });
      request.on('error', () => resolve(null));
    });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }

  async #until(what: string, condition: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + 20_000;
    while (!(await condition())) {
      if (this.#child.exitCode !== null)
        throw new Error(`isthmus ended with ${this.#child.exitCode} before ${what}`);
      if (performance.now() > end) throw new Error(`waited 20 s until ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
