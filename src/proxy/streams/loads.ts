// Counts the connections of each backend, and orders the backends: fewest connections first; among equals, the least recently
// chosen. Backends that failed recently come last. native/engine/backends/pool.cc implements the same order.
import type { Backend } from '../../routing/route-table.ts';

const MOST_TRIES = 64;
/** How long a failed backend comes last. Within this time the health checks remove it from the routes. */
const AVOID_MS = 5000;
/** At this many entries, the entries without connections are deleted. This also forgets when their backends were last chosen. */
const MANY = 16_384;

interface Load {
  connections: number;
  /** The sequence number of the last choice of this backend. */
  chosen: number;
  avoidedUntilMs: number;
}

const UNKNOWN: Readonly<Load> = { connections: 0, chosen: 0, avoidedUntilMs: 0 };

/** The backends in the order in which one connection tries them. The connection counts for the last backend returned, until `end`. */
export interface Choice extends Iterable<Backend> {
  /** Reports that the last backend returned was not reachable. */
  failed(): void;
  /** Idempotent. */
  end(): void;
}

export class Loads {
  readonly #nowMs: () => number;
  readonly #byKey = new Map<string, Load>();
  #mostKnown = MANY;
  #choices = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get known(): number {
    return this.#byKey.size;
  }

  choice(backends: readonly Backend[]): Choice {
    const tried = new Set<Backend>();
    let current: Load | null = null;
    const leave = () => {
      if (current !== null) current.connections -= 1;
      current = null;
    };
    const next = (): Backend | null => {
      leave();
      const best = tried.size < MOST_TRIES ? this.#best(backends, tried) : null;
      if (best === null) return null;
      tried.add(best);
      current = this.#load(best.key);
      current.connections += 1;
      this.#choices += 1;
      current.chosen = this.#choices;
      return best;
    };
    return {
      *[Symbol.iterator]() {
        for (let backend = next(); backend !== null; backend = next()) yield backend;
      },
      failed: () => {
        if (current !== null) current.avoidedUntilMs = this.#nowMs() + AVOID_MS;
      },
      end: leave,
    };
  }

  #best(backends: readonly Backend[], tried: ReadonlySet<Backend>): Backend | null {
    const nowMs = this.#nowMs();
    let best: Backend | null = null;
    let bestLoad = UNKNOWN;
    for (const backend of backends) {
      if (tried.has(backend)) continue;
      const load = this.#byKey.get(backend.key) ?? UNKNOWN;
      if (best !== null && !isBetter(load, bestLoad, nowMs)) continue;
      best = backend;
      bestLoad = load;
    }
    return best;
  }

  #load(key: string): Load {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size >= this.#mostKnown) {
      for (const [old, { connections }] of this.#byKey) if (connections === 0) this.#byKey.delete(old);
      this.#mostKnown = Math.max(this.#mostKnown, 2 * this.#byKey.size);
    }
    const load = { ...UNKNOWN };
    this.#byKey.set(key, load);
    return load;
  }
}

function isBetter(one: Readonly<Load>, other: Readonly<Load>, nowMs: number): boolean {
  const avoided = Number(one.avoidedUntilMs > nowMs) - Number(other.avoidedUntilMs > nowMs);
  if (avoided !== 0) return avoided < 0;
  if (one.connections !== other.connections) return one.connections < other.connections;
  return one.chosen < other.chosen;
}
