// Prints the demo: numbered steps with the time since the start, checked sentences, and measured durations.
// A sentence that is not true ends the story with an error.

/** A generous limit: on an idle machine no step takes more than a few seconds. */
const WAIT_MS = 60_000;
const LOOK_MS = 10;

export class Narrator {
  readonly #startedMs = performance.now();
  readonly #write: (line: string) => void;
  /** Returns why waiting is pointless, or null. A reason ends every wait early. */
  readonly #hopeless: () => string | null;
  #steps = 0;
  #over = false;
  checks = 0;

  constructor(options: { say: (line: string) => void; hopeless: () => string | null }) {
    this.#write = options.say;
    this.#hopeless = options.hopeless;
  }

  get elapsed(): string {
    return seconds(performance.now() - this.#startedMs);
  }

  /** From now on each attempt to print a sentence throws, which ends the story. */
  fallSilent(): void {
    this.#over = true;
  }

  step(title: string, ...lines: readonly string[]): void {
    this.#steps += 1;
    this.#say(`\n${this.#steps}. ${title}  [${this.elapsed}]`);
    for (const line of lines) this.#say(`   ${line}`);
  }

  tell(line: string): void {
    this.#say(`     ${line}`);
  }

  check(condition: boolean, sentence: string): void {
    this.checks += 1;
    if (!condition) throw new Error(`not true: ${sentence}`);
    this.#say(`   ✓ ${sentence}`);
  }

  /** Waits for the condition. Resolves with the milliseconds since `sinceMs`. */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    sinceMs = performance.now(),
  ): Promise<number> {
    const end = performance.now() + WAIT_MS;
    while (!(await condition())) {
      const problem = this.#hopeless();
      if (problem !== null) throw new Error(`${problem} before ${what}`);
      if (performance.now() > end)
        throw new Error(`gave up after ${WAIT_MS / 1000} s of waiting until ${what}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return performance.now() - sinceMs;
  }

  #say(line: string): void {
    if (this.#over) throw new Error('interrupted');
    this.#write(line);
  }
}

export function seconds(ms: number): string {
  return ms < 100 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
