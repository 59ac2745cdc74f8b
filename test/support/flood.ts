// A flood of connections to one port, from a process of its own, so that the event loop of the test is not what fails.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { WAIT_MS, within } from './tcp.ts';

const script = fileURLToPath(new URL('./flood-main.ts', import.meta.url));

export interface FloodOptions {
  readonly port: number;
  /** How many are open at any time: each is reopened as soon as it ends. */
  readonly connections: number;
  /** From how many addresses of 127.1.0.0/16 they come, in turn. */
  readonly sources: number;
  /** Sent at once. */
  readonly begin: string;
  /** Sent again and again after that. */
  readonly trickle: string;
  /** Whether answers are read. */
  readonly reads: boolean;
}

export class Flood {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
  }

  /** Resolves once as many connections were opened as there shall be. */
  static async start(options: FloodOptions): Promise<Flood> {
    const stdio: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit'];
    const flood = new Flood(spawn(process.execPath, [script, JSON.stringify(options)], { stdio }));
    await flood.#line();
    return flood;
  }

  /** How many connections it has opened so far. */
  async opened(): Promise<number> {
    this.#child.stdin.write('?');
    return Number(await this.#line());
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #line(): Promise<string> {
    const [line] = (await within(WAIT_MS, 'a line of the flood', once(this.#lines, 'line'))) as [string];
    return line;
  }
}
