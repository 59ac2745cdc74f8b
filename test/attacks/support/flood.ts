// Many hostile connections from a process of their own: what they do, how many there are, and what they were answered.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { until, WAIT_MS } from '../../support/tcp.ts';

const script = fileURLToPath(new URL('./flood-main.ts', import.meta.url));

export interface FloodOptions {
  readonly port: number;
  readonly count: number;
  /** Used in turn. */
  readonly sources: readonly string[];
  /** Used in turn. */
  readonly hellosHex: readonly string[];
  /** When the hello is sent; `on-command` waits for `Flood.speak`. */
  readonly speaks: 'never' | 'at-once' | 'on-command' | 'byte-by-byte';
  /** null: a connection that has ended stays so. */
  readonly reopensAfterMs: number | null;
  /** How long a connection stays half-open after the proxy's FIN; null: not at all. */
  readonly holdsAfterEndMs: number | null;
  /** Reading stops after so many bytes; null: never. */
  readonly readsBytes: number | null;
  /** After the hello. */
  readonly sendsForever: boolean;
}

export interface FloodCounts {
  /** As the attacker sees them: some of these may still wait in the listener's queue. */
  open: number;
  connects: number;
  /** Whole hellos that were sent. */
  spoken: number;
  endings: number;
  bytesRead: number;
  /** What happened first to a connection: `alert-<description>`, `data`, `end` or the code of an error. */
  readonly answers: Record<string, number>;
}

const DEFAULTS = {
  speaks: 'never',
  reopensAfterMs: 0,
  holdsAfterEndMs: null,
  readsBytes: null,
  sendsForever: false,
} as const;

export class Flood {
  counts: FloodCounts = { open: 0, connects: 0, spoken: 0, endings: 0, bytesRead: 0, answers: {} };
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  constructor(
    options: Pick<FloodOptions, 'port' | 'count' | 'sources'> &
      Partial<Omit<FloodOptions, 'hellosHex'>> & { readonly hellos?: readonly Buffer[] },
  ) {
    const { hellos = [], ...others } = options;
    const hellosHex = hellos.map((hello) => hello.toString('hex'));
    const all: FloodOptions = { ...DEFAULTS, ...others, hellosHex };
    this.#child = spawn(process.execPath, [script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdin.on('error', () => {});
    this.#child.stdin.write(`${JSON.stringify(all)}\n`);
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.counts = JSON.parse(line) as FloodCounts;
    });
  }

  async until(
    what: string,
    condition: (counts: FloodCounts) => boolean,
    milliseconds = WAIT_MS,
  ): Promise<void> {
    try {
      await until(what, () => condition(this.counts), milliseconds);
    } catch (error) {
      throw new Error(`${(error as Error).message}; the attacker counts ${JSON.stringify(this.counts)}`);
    }
  }

  /** Every open connection sends its hello now, and every later one as soon as it is open. */
  speak(): void {
    this.#child.stdin.write('speak\n');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

let addressesGiven = 0;

/** Addresses of loopback that no other client has or had: ports of an attacker that was killed stay taken for a minute. */
export function loopbackAddresses(count: number): string[] {
  return Array.from({ length: count }, () => {
    addressesGiven += 1;
    return `127.${64 + (addressesGiven >> 16)}.${(addressesGiven >> 8) & 255}.${addressesGiven & 255}`;
  });
}
