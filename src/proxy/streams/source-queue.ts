// Connections that are not served yet, by the address they come from. Under pressure the address that holds most of them loses its
// oldest, so that a flood evicts itself.
import { sourceOf } from '../../routing/client-source.ts';

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

  /** The oldest item of the address that has most of them; of several such addresses, of the one that came first. */
  oldestOfLargest(): T | undefined {
    let largest: ReadonlySet<T> = new Set();
    for (const items of this.#sources.values()) if (items.size > largest.size) largest = items;
    return largest.values().next().value;
  }
}
