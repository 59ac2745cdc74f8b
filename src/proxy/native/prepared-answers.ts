// Owns the answers that the addon may give without a question, by listener and server name. When a connection ends, its tag identifies the
// answer. An answer is kept until the addon has released it, because a connection can outlive the table that routed it.
import type { NativeEngineHandle } from '../../netns/native.ts';
import type { Backend } from '../../routing/route-table.ts';
import type { PreparedAnswer, Share } from '../engine.ts';
import type { AddonPool, Pools } from './pools.ts';

interface Entry {
  readonly tag: number;
  readonly answer: PreparedAnswer;
  readonly targets: readonly number[];
  /** null: the backends are tried in order. */
  readonly pool: AddonPool | null;
}

/** Key, limit and group of a share, as arguments of the addon. By default the group is the share alone; the addon needs it explicitly. */
export const shareArguments = (
  share: Share | null,
): [key: string | null, limit: number, group: string | null] => [
  share?.key ?? null,
  share?.limit ?? 0,
  share?.group ?? share?.key ?? null,
];

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

  /** undefined for tag 0: the policy answered that connection itself. */
  byTag(tag: number): PreparedAnswer | undefined {
    return this.#byTag.get(tag);
  }

  /** The targets of all current tables, except those of pools. They are in use, although the policy gives no answers with them. */
  targets(): ReadonlySet<number> {
    const targets = new Set<number>();
    for (const table of this.#tables.values())
      for (const entry of table.values()) for (const target of entry.targets) targets.add(target);
    return targets;
  }

  /** The pools of all current tables. */
  pools(): ReadonlySet<AddonPool> {
    const pools = new Set<AddonPool>();
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
    if (answer.balance === 'least-connections') return this.#poolEntry(known, answer);
    const targets = answer.backends.map((backend) => this.#targetOf(backend));
    // A target may have been dropped and created again with a new number. The old number has no netns handle any more.
    if (known?.answer === answer && known.targets.every((target, index) => target === targets[index])) {
      return known;
    }
    const { farewell, share } = answer;
    const tag = this.#engine.prepareAnswer(farewell, ...shareArguments(share), ...targets);
    this.#byTag.set(tag, answer);
    return { tag, answer, targets, pool: null };
  }

  #poolEntry(known: Entry | undefined, answer: PreparedAnswer): Entry {
    const pool = this.#pools.of(answer.backends);
    if (known?.answer === answer && known.pool === pool) return known;
    const { farewell, share } = answer;
    const tag = this.#engine.preparePool(farewell, ...shareArguments(share), pool.id);
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
