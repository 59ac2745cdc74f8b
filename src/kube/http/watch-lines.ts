// Splits the bytes of a watch into lines, independent of chunk boundaries. Rejects a line that exceeds the bound.

export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

const NEWLINE = 0x0a;

export class WatchLines {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that are complete now, without empty lines. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      const part = chunk.subarray(start, end === -1 ? undefined : end);
      if (this.#length + part.length > this.#maxBytes)
        throw new LineTooLong(`more than ${this.#maxBytes} bytes`);
      if (part.length > 0) {
        this.#parts.push(part);
        this.#length += part.length;
      }
      if (end === -1) return;
      const line = Buffer.concat(this.#parts, this.#length).toString('utf8');
      this.#parts = [];
      this.#length = 0;
      if (line.trim() !== '') yield line;
      start = end + 1;
    }
  }

  /** Bytes of an incomplete line. */
  get pending(): number {
    return this.#length;
  }
}
