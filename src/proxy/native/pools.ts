// The pools that the addon knows: made once for a list of backends, so that an answer is one number however many they are. One that
// nobody has asked for any more, or of which a member has gone, is forgotten; connections that came by it do not notice.
import type { NativeEngineHandle } from '../../netns/native.ts';
import type { Backend } from '../../routing/route-table.ts';

export interface Pool {
  readonly id: number;
  readonly targets: ReadonlySet<number>;
}

interface Known extends Pool {
  /** The look before which it was last asked for. */
  usedBefore: number;
}

export class Pools {
  readonly #engine: NativeEngineHandle;
  readonly #targetOf: (backend: Backend) => number;
  /** By the list itself: it is the same object while it says the same. */
  readonly #known = new Map<readonly Backend[], Known>();
  #looks = 0;

  constructor(engine: NativeEngineHandle, targetOf: (backend: Backend) => number) {
    this.#engine = engine;
    this.#targetOf = targetOf;
  }

  of(backends: readonly Backend[]): Pool {
    const known = this.#known.get(backends);
    if (known !== undefined) {
      known.usedBefore = this.#looks + 1;
      return known;
    }
    const targets = Uint32Array.from(backends, (backend) => this.#targetOf(backend));
    const pool = {
      id: this.#engine.addPool(targets),
      targets: new Set(targets),
      usedBefore: this.#looks + 1,
    };
    this.#known.set(backends, pool);
    return pool;
  }

  /** Forgets what was not asked for since the look before the last. Returns the targets of the others: they are in use. */
  look(prepared: ReadonlySet<Pool>): ReadonlySet<number> {
    const targets = new Set<number>();
    this.#looks += 1;
    for (const [backends, pool] of this.#known) {
      if (pool.usedBefore < this.#looks - 1 && !prepared.has(pool)) this.#forget(backends, pool);
      else for (const target of pool.targets) targets.add(target);
    }
    return targets;
  }

  /** Its netns is not routed to any more: who asks for a pool with it again gets another, with the target of that time. */
  targetDropped(id: number): void {
    for (const [backends, pool] of this.#known) if (pool.targets.has(id)) this.#forget(backends, pool);
  }

  #forget(backends: readonly Backend[], { id }: Pool): void {
    this.#known.delete(backends);
    this.#engine.dropPool(id);
  }
}
