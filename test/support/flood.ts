// A flood of connections to one port. It runs in a separate process and does not load the event loop of the test.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { WAIT_MS, within } from './tcp.ts';

const script = fileURLToPath(new URL('./flood-main.ts', import.meta.url));

export interface FloodOptions {
  readonly port: number;
  /** The number of open connections. Each one is reopened as soon as it ends. */
  readonly connections: number;
  /** The number of source addresses in 127.1.0.0/16, used in turn. */
  readonly sources: number;
  /** The bytes that each connection sends first. */
  readonly begin: string;
  /** The bytes that each connection then sends repeatedly. */
  readonly trickle: string;
  /** Whether the flood reads answers. */
  readonly reads: boolean;
}

export class Flood {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
  }

  /** Resolves when the flood has opened the required number of connections. */
  static async start(options: FloodOptions): Promise<Flood> {
    const stdio: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit'];
    const flood = new Flood(spawn(process.execPath, [script, JSON.stringify(options)], { stdio }));
    await flood.#line();
    return flood;
  }

  /** How many connections the flood has opened. */
  async opened(): Promise<number> {
    this.#child.stdin.write('?');
    return Number(await this.#line());
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await within(WAIT_MS, 'the exit of the flood', once(this.#child, 'exit'));
  }

  async #line(): Promise<string> {
    const [line] = (await within(WAIT_MS, 'a line of the flood', once(this.#lines, 'line'))) as [string];
    return line;
  }
}
