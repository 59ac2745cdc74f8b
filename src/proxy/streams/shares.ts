// Counts the connections of each share: what a policy bounds without the engine knowing what it stands for.
import type { Share } from '../engine.ts';

export class Shares {
  readonly #counts = new Map<string, number>();

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** False when that would be one too many; else it counts until `leave`. */
  enter({ key, limit }: Share): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (count >= limit) return false;
    this.#counts.set(key, count + 1);
    return true;
  }

  leave({ key }: Share): void {
    const count = (this.#counts.get(key) ?? 0) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}
