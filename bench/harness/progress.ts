// Prints one line with the current step and the remaining time. A terminal rewrites the line; a log gets it every ten seconds.

export class Progress {
  #left: number;
  #line = '';
  #lastPrinted = 0;
  readonly #terminal = process.stderr.isTTY === true;

  constructor(seconds: number) {
    this.#left = seconds;
  }

  at(...where: string[]): void {
    const minutes = Math.floor(this.#left / 60);
    const seconds = String(Math.round(this.#left % 60)).padStart(2, '0');
    this.#line = `${where.join(' · ')} · ${minutes}:${seconds} left`;
    if (this.#terminal) process.stderr.write(`\r\x1b[K${this.#line}`);
    else if (Date.now() - this.#lastPrinted > 10_000) {
      this.#lastPrinted = Date.now();
      process.stderr.write(`${this.#line}\n`);
    }
  }

  /** Reports that `seconds` of the plan are done. */
  done(seconds: number): void {
    this.#left = Math.max(0, this.#left - seconds);
  }

  /** Extends the plan, because a disturbed measurement is repeated. */
  more(seconds: number): void {
    this.#left += seconds;
  }

  say(text: string): void {
    process.stderr.write(`${this.#terminal ? '\r\x1b[K' : ''}${text}\n`);
  }
}
