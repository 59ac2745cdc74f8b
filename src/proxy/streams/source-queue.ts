// Keeps the connections that can be evicted, grouped by source address. Eviction picks the address with the most
// connections and removes its oldest one, so a flood evicts its own connections.
import { sourceOf } from '../../routing/addresses.ts';

export class SourceQueue<T> {
  readonly #sources = new Map<string, Set<T>>();

  add(item: T, address: string): void {
    const source = sourceOf(address);
    const items = this.#sources.get(source);
    if (items === undefined) this.#sources.set(source, new Set([item]));
    else items.add(item);
  }

  remove(item: T, address: string): void {
    const source = sourceOf(address);
    const items = this.#sources.get(source);
    if (items?.delete(item) && items.size === 0) this.#sources.delete(source);
  }

  /** The oldest item of the address with the most items. Among equal addresses, the one that was added first. */
  oldestOfLargest(): T | undefined {
    let largest: ReadonlySet<T> = new Set();
    for (const items of this.#sources.values()) if (items.size > largest.size) largest = items;
    return largest.values().next().value;
  }
}
