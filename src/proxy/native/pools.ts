// Owns the addon's pools. A pool is created once for each list of backends, so an answer with thousands of backends is one number. A pool
// is dropped when it is unused or when one of its targets is dropped. Open connections of a dropped pool continue.
import type { NativeEngineHandle } from '../../netns/native.ts';
import type { Backend } from '../../routing/route-table.ts';

export interface AddonPool {
  readonly id: number;
  readonly targets: ReadonlySet<number>;
}

interface Known extends AddonPool {
  /** The number of the first `sweep` call after the last use. */
  usedBefore: number;
}

export class Pools {
  readonly #engine: NativeEngineHandle;
  readonly #targetOf: (backend: Backend) => number;
  /** By array identity: callers pass the same array while its content is unchanged. */
  readonly #known = new Map<readonly Backend[], Known>();
  #sweeps = 0;

  constructor(engine: NativeEngineHandle, targetOf: (backend: Backend) => number) {
    this.#engine = engine;
    this.#targetOf = targetOf;
  }

  of(backends: readonly Backend[]): AddonPool {
    const known = this.#known.get(backends);
    if (known !== undefined) {
      known.usedBefore = this.#sweeps + 1;
      return known;
    }
    const targets = Uint32Array.from(backends, (backend) => this.#targetOf(backend));
    const pool = {
      id: this.#engine.addPool(targets),
      targets: new Set(targets),
      usedBefore: this.#sweeps + 1,
    };
    this.#known.set(backends, pool);
    return pool;
  }

  /** Drops the pools that were not used since the call before the last one. Returns the targets of the remaining pools. */
  sweep(prepared: ReadonlySet<AddonPool>): ReadonlySet<number> {
    const targets = new Set<number>();
    this.#sweeps += 1;
    for (const [backends, pool] of this.#known) {
      if (pool.usedBefore < this.#sweeps - 1 && !prepared.has(pool)) this.#forget(backends, pool);
      else for (const target of pool.targets) targets.add(target);
    }
    return targets;
  }

  /** Drops all pools with this target. The next `of` for the same list creates a new pool with the current target. */
  targetDropped(id: number): void {
    for (const [backends, pool] of this.#known) if (pool.targets.has(id)) this.#forget(backends, pool);
  }

  #forget(backends: readonly Backend[], { id }: AddonPool): void {
    this.#known.delete(backends);
    this.#engine.dropPool(id);
  }
}
