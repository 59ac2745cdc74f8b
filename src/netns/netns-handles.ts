// Owns the open netns handles of one user (the streams engine, the TLS probe). An open handle keeps a deleted namespace and its
// devices alive in the kernel, so only retained handles stay open.
import type { NativeAddon, Netns } from './native.ts';
import type { NetnsRef } from './netns-ref.ts';

/** The path now names another namespace than the route. A dial can succeed after the next scan of the netns directory. */
export class NetnsChangedError extends Error {
  readonly code = 'ENETNSCHANGED';
  constructor(ref: NetnsRef, found: string) {
    super(`${ref.path} is now another network namespace (expected ${ref.identity}, found ${found})`);
  }
}

const keyOf = (ref: NetnsRef) => `${ref.identity} ${ref.path}`;

export class NetnsHandles {
  readonly #open = new Map<string, Netns>();
  readonly #addon: Pick<NativeAddon, 'openNetns'>;
  readonly #most: number;

  /** Keeps at most `most` handles open. Beyond that, it opens one for each socket, which costs about 15 µs and keeps no descriptor. */
  constructor(addon: Pick<NativeAddon, 'openNetns'>, most: number) {
    this.#addon = addon;
    this.#most = most;
  }

  /** Creates an unconnected TCP socket in the netns. The caller owns the descriptor. */
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

  /** Closes every handle that is not in `refs`. */
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
