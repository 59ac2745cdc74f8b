// Runs the real program for the demo, as a user does: `isthmus run` as a separate process, observed through its admin port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClusterView, StatusView } from '../src/telemetry/status/status.ts';

/** The default ports of the program. */
export const PROXY_PORT = 6443;
export const ADMIN_PORT = 9580;

export class DemoProxy {
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  onLog: (line: string) => void = () => {};

  constructor(args: readonly string[]) {
    const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
    this.#child = spawn(process.execPath, [main, 'run', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment(),
    });
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

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  async status(): Promise<StatusView> {
    const status = await readStatus();
    if (status === null) throw new Error('the admin port of isthmus does not answer');
    return status;
  }

  async isReady(): Promise<boolean> {
    return (await readStatus())?.ready === true;
  }

  async cluster(name: string): Promise<ClusterView | undefined> {
    return (await readStatus())?.clusters.find((cluster) => cluster.name === name);
  }

  /** Stops the process as an init system does. Resolves with the exit code. */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    return this.#child.exitCode;
  }
}

/** Removes variables of the user's environment that would change settings, and sets a log format that the demo can parse. */
function environment(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(ISTHMUS_|PROXY_)|^(KUBECONFIG|POD_IP|NODE_NAME)$/.test(name) || name === 'ISTHMUS_ADDON',
  );
  return {
    ...Object.fromEntries(own),
    ISTHMUS_LOG_FORMAT: 'json',
    ISTHMUS_LOG_LEVEL: 'debug',
    ISTHMUS_DRAIN_TIMEOUT: '2s',
  };
}

/** null while the admin port does not answer. */
function readStatus(): Promise<StatusView | null> {
  return new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', port: ADMIN_PORT, path: '/status', timeout: 5000 },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', () => resolve(null));
        response.on('end', () => resolve(JSON.parse(text) as StatusView));
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(null));
  });
}
