// Collects the first bytes of a connection in one growing buffer. The capacity doubles, so even with single-byte reads each byte
// is copied a constant number of times on average. The memory of a buffer counts towards a limit that all connections share.

const FIRST_CAPACITY = 2048; // a post-quantum hello is ~1.8 KB: nearly always the only allocation

/** The memory that all hellos of one engine use together. */
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
 * The first 2 KB of each connection do not count, because the limit of connections already bounds them. So a few clients with
 * very long hellos cannot block all other clients.
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

  /** True when it uses some of the shared memory. */
  get isLarge(): boolean {
    return accounted(this.#buffer.length) > 0;
  }

  /** A view on all bytes so far, valid until the next append or release. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns false, without appending, when the shared memory is full. */
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
