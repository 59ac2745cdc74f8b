// Collects the first bytes of a connection in one growing buffer. It doubles, so that bytes which arrive one at a time are
// copied a constant number of times, and it accounts for its memory, which all connections share.

const FIRST_CAPACITY = 2048; // a post-quantum hello is ~1.8 KB: nearly always the only allocation

/** Memory that all hellos of one engine hold together. */
export class HelloMemory {
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  take(bytes: number): boolean {
    if (this.#used + bytes > this.#limit) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

const EMPTY = Buffer.alloc(0);

/**
 * The first bytes of each connection are free: the number of connections bounds those, and a few clients with very long hellos
 * must not keep all others from being heard.
 */
function accounted(capacity: number): number {
  return Math.max(0, capacity - FIRST_CAPACITY);
}

export class HelloBuffer {
  readonly #memory: HelloMemory;
  #buffer = EMPTY;
  #length = 0;

  constructor(memory: HelloMemory) {
    this.#memory = memory;
  }

  get length(): number {
    return this.#length;
  }

  /** It holds some of the memory that all share. */
  get isLarge(): boolean {
    return accounted(this.#buffer.length) > 0;
  }

  /** A view on all bytes so far, valid until the next append or release. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** False when the memory that all connections share is used up. */
  append(chunk: Buffer): boolean {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const capacity = Math.max(FIRST_CAPACITY, needed, this.#buffer.length * 2);
      if (!this.#memory.take(accounted(capacity) - accounted(this.#buffer.length))) return false;
      const grown = Buffer.allocUnsafeSlow(capacity);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
    return true;
  }

  release(): void {
    this.#memory.give(accounted(this.#buffer.length));
    this.#buffer = EMPTY;
    this.#length = 0;
  }
}
