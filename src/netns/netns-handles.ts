// Owns the open handles on network namespaces of one user (an engine, the prober). An open handle keeps a deleted namespace
// and its devices alive in the kernel, so only what is retained stays open.
import type { NativeAddon, Netns } from './native.ts';
import type { NetnsRef } from './netns-ref.ts';

/** The path now leads to another namespace than the route was made for. Retry once the netns directory was read again. */
export class NetnsChangedError extends Error {
  readonly code = 'ENETNSCHANGED';
  constructor(ref: NetnsRef, found: string) {
    super(`${ref.path} is another network namespace now (wanted ${ref.identity}, found ${found})`);
  }
}

const keyOf = (ref: NetnsRef) => `${ref.identity} ${ref.path}`;

export class NetnsHandles {
  readonly #open = new Map<string, Netns>();
  readonly #addon: Pick<NativeAddon, 'openNetns'>;
  readonly #most: number;

  /** Keeps at most so many open: beyond it one is opened for each socket, which costs some 15 µs and no descriptor. */
  constructor(addon: Pick<NativeAddon, 'openNetns'>, most: number) {
    this.#addon = addon;
    this.#most = most;
  }

  /** A new unconnected TCP socket in the netns; the caller owns the descriptor. */
  createTcpSocket(ref: NetnsRef, family: 4 | 6): number {
    const key = keyOf(ref);
    const kept = this.#open.get(key);
    if (kept !== undefined) return kept.createTcpSocket(family);
    const netns = this.#opened(ref);
    if (this.#open.size < this.#most) {
      this.#open.set(key, netns);
      return netns.createTcpSocket(family);
    }
    try {
      return netns.createTcpSocket(family);
    } finally {
      netns.close();
    }
  }

  #opened(ref: NetnsRef): Netns {
    const netns = this.#addon.openNetns(ref.path);
    if (netns.identity === ref.identity) return netns;
    const found = netns.identity;
    netns.close();
    throw new NetnsChangedError(ref, found);
  }

  /** Closes every handle that is not among these. */
  retain(refs: Iterable<NetnsRef>): void {
    const wanted = new Set(Array.from(refs, keyOf));
    for (const [key, netns] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      netns.close();
    }
  }

  get size(): number {
    return this.#open.size;
  }

  close(): void {
    this.retain([]);
  }
}
