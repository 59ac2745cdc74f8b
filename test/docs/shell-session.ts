// A bash that gets blocks of a page on its standard input, as a reader pastes them into a terminal.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mainScript } from '../support/isthmus.ts';
import { WAIT_MS, within } from '../support/tcp.ts';
import { root } from './page-blocks.ts';

/** bash reports a background process that ended by a signal. A terminal shows such lines at other moments than a pipe. */
const JOB_NOTICE = /^bash: line \d+: +\d+ (Terminated|Killed) .*\n/gm;

export interface BlockResult {
  /** Standard output and standard error, in the order of a terminal. */
  readonly printed: string;
  /** The commands that failed, in the words of bash. */
  readonly failed: readonly string[];
  readonly exitCode: number;
}

export class ShellSession {
  readonly #bin = mkdtempSync(join(tmpdir(), 'isthmus-docs-'));
  readonly #child: ChildProcess;
  readonly #mark = `block-${randomUUID()}`;
  #text = '';
  #onText = () => {};
  #ended = false;

  constructor() {
    const installed = join(this.#bin, 'isthmus');
    writeFileSync(installed, `#!/bin/sh\nexec '${process.execPath}' '${mainScript}' "$@"\n`);
    chmodSync(installed, 0o755);
    const { PATH, HOME = '/' } = process.env;
    this.#child = spawn('sh', ['-c', 'exec bash --norc --noprofile 2>&1'], {
      cwd: root,
      env: { PATH: `${this.#bin}:${PATH}`, HOME, LC_ALL: 'C.UTF-8' },
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    });
    this.#child.stdin!.on('error', () => {}); // the shell has ended; `run` reports it
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
      this.#onText();
    });
    this.#child.on('exit', () => {
      this.#ended = true;
      this.#onText();
    });
  }

  async run(block: string): Promise<BlockResult> {
    const end = new RegExp(`\\n${this.#mark} ended (\\d+)\\n`);
    this.#text = '';
    // A block may start another shell, so every block sets the trap again.
    this.#child.stdin!.write(
      `trap 'printf "\\n${this.#mark} failed %s\\n" "$BASH_COMMAND"' ERR\n${block}\n` +
        `printf '\\n${this.#mark} ended %s\\n' "$?"\n`,
    );
    const complete = new Promise<void>((resolve) => {
      this.#onText = () => (end.test(this.#text) || this.#ended) && resolve();
      this.#onText();
    });
    await within(WAIT_MS, `the end of the block; so far it printed:\n${this.#text}`, complete);
    const [whole, exitCode] = end.exec(this.#text) ?? [];
    if (whole === undefined) throw new Error(`the shell ended; it printed:\n${this.#text}`);
    const failure = new RegExp(`\\n${this.#mark} failed (.*)\\n`, 'g');
    const before = this.#text.slice(0, this.#text.indexOf(whole));
    return {
      printed: before.replace(failure, '').replace(JOB_NOTICE, ''),
      failed: [...before.matchAll(failure)].map(([, command]) => command!),
      exitCode: Number(exitCode),
    };
  }

  /** Ends the shell and every process that its blocks started. */
  stop(): void {
    if (!this.#ended) process.kill(-this.#child.pid!, 'SIGKILL');
    rmSync(this.#bin, { recursive: true, force: true });
  }
}
