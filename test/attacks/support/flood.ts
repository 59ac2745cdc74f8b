// Many hostile connections from a separate process: their behaviour, their number, and the answers that they got.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { until, WAIT_MS, within } from '../../support/tcp.ts';

const script = fileURLToPath(new URL('./flood-main.ts', import.meta.url));

export interface FloodOptions {
  readonly port: number;
  readonly count: number;
  /** The connections use these in turn. */
  readonly sources: readonly string[];
  /** The connections use these in turn. */
  readonly hellosHex: readonly string[];
  /** When a connection sends its hello; `on-command` waits for `Flood.speak`. */
  readonly speaks: 'never' | 'at-once' | 'on-command' | 'byte-by-byte';
  /** null: an ended connection is not reopened. */
  readonly reopensAfterMs: number | null;
  /** How long a connection stays half-open after the proxy's FIN; null: it closes at once. */
  readonly holdsAfterEndMs: number | null;
  /** A connection stops reading after this many bytes; null: it never stops. */
  readonly readsBytes: number | null;
  /** Each connection sends data without end after its hello. */
  readonly sendsForever: boolean;
}

export interface FloodCounts {
  /** As the attacker sees them: some can still wait in the listener's queue. */
  open: number;
  connects: number;
  /** Complete hellos that the attacker sent. */
  spoken: number;
  endings: number;
  bytesRead: number;
  /** The first event of a connection: `alert-<description>`, `data`, `end` or an error code. */
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

  /** Every open connection sends its hello now, and every later connection as soon as it is open. */
  speak(): void {
    this.#child.stdin.write('speak\n');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await within(WAIT_MS, 'the exit of the flood', once(this.#child, 'exit'));
  }
}

let addressesGiven = 0;

/** Loopback addresses that no other client uses or used: the ports of a killed attacker stay busy for a minute. */
export function loopbackAddresses(count: number): string[] {
  return Array.from({ length: count }, () => {
    addressesGiven += 1;
    return `127.${64 + (addressesGiven >> 16)}.${(addressesGiven >> 8) & 255}.${addressesGiven & 255}`;
  });
}
