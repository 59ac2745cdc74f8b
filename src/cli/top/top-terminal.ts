// The terminal while `isthmus top` has it: another screen, no cursor, keys one by one; and everything as it was when it gives it back,
// however it ends. It knows nothing of what is shown.
import type { ReadStream, WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { Span, Tone, TopLine } from './top-screen.ts';

export interface TopTerminalDeps {
  /** null: no keys are read. */
  readonly input: Pick<ReadStream, 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'> | null;
  readonly output: Pick<WriteStream, 'write' | 'columns' | 'rows' | 'writableNeedDrain' | 'on' | 'off'>;
  readonly colours: boolean;
  readonly onKey: (key: string) => void;
  readonly onResize: () => void;
  /** Nobody looks any more. */
  readonly onGone: () => void;
}

// The other screen, and there no cursor and no line that is continued on the next.
const TAKE = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J';
const GIVE_BACK = '\x1b[?7h\x1b[?25h\x1b[?1049l';

const CODES: Readonly<Record<Tone, string | null>> = {
  plain: null,
  strong: '1',
  good: '32',
  warning: '33',
  bad: '31',
  faint: '2',
  title: '7',
};

export class TopTerminal {
  readonly #deps: TopTerminalDeps;
  #taken = false;
  readonly #read = (chunk: Buffer | string): void => {
    // Without arrows, and answers to questions that nobody asked.
    for (const key of stripVTControlCharacters(String(chunk))) this.#deps.onKey(key);
  };
  readonly #giveBack = (): void => this.close();

  constructor(deps: TopTerminalDeps) {
    this.#deps = deps;
  }

  open(): void {
    const { input, output, onResize, onGone } = this.#deps;
    this.#taken = true;
    // Also when an exception ends the process: a terminal takes what is written at once.
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

  /** What a terminal says that does not know itself. */
  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#deps.output;
    return { columns: columns || 80, rows: rows || 24 };
  }

  /** One that is too slow is not given more than it can take. */
  draw(lines: readonly TopLine[]): void {
    const { output, colours } = this.#deps;
    if (!this.#taken || output.writableNeedDrain) return;
    const text = lines.map((line) => `${line.map((span) => painted(span, colours)).join('')}\x1b[K`);
    output.write(`\x1b[H${text.join('\r\n')}\x1b[J`);
  }

  close(): void {
    if (!this.#taken) return;
    this.#taken = false;
    const { input, output, onResize, onGone } = this.#deps;
    process.off('exit', this.#giveBack);
    output.off('resize', onResize);
    if (input !== null) {
      input.off('data', this.#read);
      input.off('end', onGone);
      input.setRawMode(false);
      input.pause();
    }
    // Errors are still heard: a terminal that is gone says so now.
    output.write(GIVE_BACK);
  }
}

function painted({ text, tone }: Span, colours: boolean): string {
  const code = CODES[tone];
  return colours && code !== null ? `\x1b[${code}m${text}\x1b[0m` : text;
}
