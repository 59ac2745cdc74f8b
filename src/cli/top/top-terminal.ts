// Controls the terminal for `isthmus top`: alternate screen, hidden cursor, single key presses. It restores the terminal at the end,
// also when an exception ends the process. The content comes from the caller.
import type { ReadStream, WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { Span, Tone, TopLine } from './top-screen.ts';

export interface TopTerminalOptions {
  /** null: no keys are read. */
  readonly input: Pick<ReadStream, 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'> | null;
  readonly output: Pick<WriteStream, 'write' | 'columns' | 'rows' | 'writableNeedDrain' | 'on' | 'off'>;
  readonly colours: boolean;
  readonly onKey: (key: string) => void;
  readonly onResize: () => void;
  /** The terminal is closed. */
  readonly onGone: () => void;
}

// Switches to the alternate screen, hides the cursor, disables line wrapping and clears the screen.
const TAKE = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J';
const GIVE_BACK = '\x1b[?7h\x1b[?25h\x1b[?1049l';

const CODES: Readonly<Record<Tone, string | null>> = {
  plain: null,
  strong: '1',
  good: '32',
  warning: '33',
  bad: '31',
  dim: '2',
  title: '7',
};

export class TopTerminal {
  readonly #options: TopTerminalOptions;
  #taken = false;
  readonly #read = (chunk: Buffer | string): void => {
    // Removes escape sequences: arrow keys and unrequested terminal reports.
    for (const key of stripVTControlCharacters(String(chunk))) this.#options.onKey(key);
  };
  readonly #giveBack = (): void => this.close();

  constructor(options: TopTerminalOptions) {
    this.#options = options;
  }

  open(): void {
    const { input, output, onResize, onGone } = this.#options;
    this.#taken = true;
    // Restores the terminal even when an exception ends the process: writes to a terminal are synchronous.
    process.once('exit', this.#giveBack);
    output.on('resize', onResize);
    output.on('error', onGone);
    output.write(TAKE);
    if (input === null) return;
    input.setRawMode(true);
    input.on('data', this.#read);
    input.on('end', onGone);
    input.on('error', onGone);
    input.resume();
  }

  /** 80 by 24 if the terminal does not report its size. */
  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#options.output;
    return { columns: columns || 80, rows: rows || 24 };
  }

  /** Skips the frame while a slow terminal has unwritten output. */
  draw(lines: readonly TopLine[]): void {
    const { output, colours } = this.#options;
    if (!this.#taken || output.writableNeedDrain) return;
    const text = lines.map((line) => `${line.map((span) => painted(span, colours)).join('')}\x1b[K`);
    output.write(`\x1b[H${text.join('\r\n')}\x1b[J`);
  }

  close(): void {
    if (!this.#taken) return;
    this.#taken = false;
    const { input, output, onResize, onGone } = this.#options;
    process.off('exit', this.#giveBack);
    output.off('resize', onResize);
    if (input !== null) {
      input.off('data', this.#read);
      input.off('end', onGone);
      input.setRawMode(false);
      input.pause();
    }
    // The error listener stays: this write fails if the terminal is already closed.
    output.write(GIVE_BACK);
  }
}

function painted({ text, tone }: Span, colours: boolean): string {
  const code = CODES[tone];
  return colours && code !== null ? `\x1b[${code}m${text}\x1b[0m` : text;
}
