// A real server process inside a network namespace. The test controls it with lines on its standard input and output.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { WAIT_MS, within } from '../tcp.ts';

const script = fileURLToPath(new URL('./netns-server-main.ts', import.meta.url));

export class NetnsServer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: string[] = [];
  readonly #waiting: ((line: string) => void)[] = [];

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const next = this.#waiting.shift();
      if (next) next(line);
      else this.#lines.push(line);
    });
  }

  /** `args` are the arguments of netns-server-main.ts. */
  static start(netns: string, ...args: readonly string[]): Promise<NetnsServer> {
    return NetnsServer.startBy(['ip', 'netns', 'exec', netns], ...args);
  }

  /** `enter` is a command that enters a netns and becomes the command in its arguments. */
  static async startBy(
    enter: readonly [string, ...string[]],
    ...args: readonly string[]
  ): Promise<NetnsServer> {
    const [program, ...rest] = enter;
    const command = [...rest, process.execPath, script, ...args];
    const server = new NetnsServer(spawn(program, command, { stdio: ['pipe', 'pipe', 'inherit'] }));
    const first = await server.nextLine();
    if (first !== 'listening') throw new Error(`server of ${enter.join(' ')} said: ${first}`);
    return server;
  }

  nextLine(): Promise<string> {
    const there = this.#lines.shift();
    if (there !== undefined) return Promise.resolve(there);
    return within(WAIT_MS, 'a line of the server', new Promise((resolve) => this.#waiting.push(resolve)));
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await within(WAIT_MS, 'the exit of a server in a netns', once(this.#child, 'exit'));
  }
}
