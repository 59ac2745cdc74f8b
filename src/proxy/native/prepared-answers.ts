// The answers that the addon may give without asking, by listener and server name, and what they stand for when a connection that
// got one is told of. An answer is remembered until the addon has forgotten it: connections outlive the table that they came by.
import type { NativeEngineHandle } from '../../netns/native.ts';
import type { Backend } from '../../routing/route-table.ts';
import type { PreparedAnswer, Share } from '../engine.ts';
import type { Pool, Pools } from './pools.ts';

interface Entry {
  readonly tag: number;
  readonly answer: PreparedAnswer;
  readonly targets: readonly number[];
  /** null: tried in order. */
  readonly pool: Pool | null;
}

/** As the addon takes it. */
export const groupOf = (share: Share | null): string | null => share?.group ?? share?.key ?? null;

export class PreparedAnswers {
  readonly #engine: NativeEngineHandle;
  readonly #targetOf: (backend: Backend) => number;
  readonly #pools: Pools;
  readonly #tables = new Map<number, ReadonlyMap<string, Entry>>();
  readonly #byTag = new Map<number, PreparedAnswer>();

  constructor(engine: NativeEngineHandle, targetOf: (backend: Backend) => number, pools: Pools) {
    this.#engine = engine;
    this.#pools = pools;
    this.#targetOf = targetOf;
  }

  /** Undefined for 0, the tag of those that were asked about. */
  byTag(tag: number): PreparedAnswer | undefined {
    return this.#byTag.get(tag);
  }

  /** The targets that tables name now, but for those of pools: they are in use although nobody asks for them. */
  targets(): ReadonlySet<number> {
    const targets = new Set<number>();
    for (const table of this.#tables.values())
      for (const entry of table.values()) for (const target of entry.targets) targets.add(target);
    return targets;
  }

  /** And the pools. */
  pools(): ReadonlySet<Pool> {
    const pools = new Set<Pool>();
    for (const table of this.#tables.values())
      for (const { pool } of table.values()) if (pool !== null) pools.add(pool);
    return pools;
  }

  prepare(listener: number, answers: ReadonlyMap<string, PreparedAnswer>): void {
    const before = this.#tables.get(listener) ?? new Map<string, Entry>();
    const table = new Map<string, Entry>();
    for (const [name, answer] of answers) table.set(name, this.#entry(before.get(name), answer));
    this.#engine.prepare(
      listener,
      [...table.keys()],
      Array.from(table.values(), ({ tag }) => tag),
    );
    this.#tables.set(listener, table);
    this.#drop(before, table);
  }

  /** The listener is closed. */
  forget(listener: number): void {
    const before = this.#tables.get(listener);
    this.#tables.delete(listener);
    if (before !== undefined) this.#drop(before, new Map());
  }

  #entry(known: Entry | undefined, answer: PreparedAnswer): Entry {
    if (answer.balance === 'least-connections') return this.#equals(known, answer);
    const targets = answer.backends.map((backend) => this.#targetOf(backend));
    // A target may have gone and come again meanwhile, with another number: the old one keeps no handle on its netns.
    if (known?.answer === answer && known.targets.every((target, index) => target === targets[index])) {
      return known;
    }
    const { farewell, share } = answer;
    const tag = this.#engine.prepareAnswer(
      farewell,
      share?.key ?? null,
      share?.limit ?? 0,
      groupOf(share),
      ...targets,
    );
    this.#byTag.set(tag, answer);
    return { tag, answer, targets, pool: null };
  }

  #equals(known: Entry | undefined, answer: PreparedAnswer): Entry {
    const pool = this.#pools.of(answer.backends);
    if (known?.answer === answer && known.pool === pool) return known;
    const { farewell, share } = answer;
    const tag = this.#engine.prepareEquals(
      farewell,
      share?.key ?? null,
      share?.limit ?? 0,
      groupOf(share),
      pool.id,
    );
    this.#byTag.set(tag, answer);
    return { tag, answer, targets: [], pool };
  }

  #drop(before: ReadonlyMap<string, Entry>, now: ReadonlyMap<string, Entry>): void {
    for (const [name, { tag }] of before) {
      if (now.get(name)?.tag !== tag) this.#engine.dropAnswer(tag);
    }
    for (const tag of this.#engine.forgottenAnswers()) this.#byTag.delete(tag);
  }
}
