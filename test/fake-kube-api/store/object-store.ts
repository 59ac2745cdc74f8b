// What the management API remembers: every object once, by resource and namespace, with one revision counter for all as etcd has
// it, and a bounded history of changes for watches. It knows no kinds, no verbs and no HTTP.

import type { KubeObject } from '../kube-object.ts';
import type { FieldOwners } from './field-owners.ts';

/** One version of one object. Nothing in it is ever changed, so lists, watches and snapshots can share it. */
export interface Entry {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** As it was written, in the version that was the storage version then. */
  readonly object: KubeObject;
  readonly revision: number;
  readonly owners: FieldOwners;
  /** The JSON of each API version that was ever asked for: made once, shared by all who list and watch. */
  readonly rendered: Map<string, string>;
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly entry: Entry;
  readonly previous: Entry | null;
  readonly revision: number;
}

export type ChangeListener = (change: Change) => void;

interface Table {
  entries: Map<string, Entry>;
  /** Sorted as etcd's are; null after an object came or went. */
  keys: readonly string[] | null;
  /** In the order of the keys; null after any change. */
  sorted: readonly Entry[] | null;
  sortedByNamespace: Map<string, readonly Entry[]> | null;
  history: Change[];
  /** Changes up to this revision are no longer in the history. */
  forgotten: number;
  readonly listeners: Set<ChangeListener>;
}

export interface Snapshot {
  readonly revision: number;
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, Entry>>;
}

/** Not 1, so that there is a past that nobody remembers, as there is in every real cluster. */
const FIRST_REVISION = 100;

export class ObjectStore {
  readonly #historyLimit: number;
  readonly #tables = new Map<string, Table>();
  readonly #listeners = new Set<ChangeListener>();
  #revision = FIRST_REVISION;
  /** Nothing before it is remembered by anybody. */
  #restored = FIRST_REVISION;

  constructor({ historyLimit }: { readonly historyLimit: number }) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  get(resource: string, namespace: string, name: string): Entry | null {
    return this.#table(resource).entries.get(keyOf(namespace, name)) ?? null;
  }

  /** In the order of namespace and name; null for all namespaces. */
  list(resource: string, namespace: string | null): readonly Entry[] {
    const table = this.#table(resource);
    if (table.sorted === null) {
      table.keys ??= [...table.entries.keys()].sort();
      table.sorted = table.keys.map((key) => table.entries.get(key) as Entry);
      table.sortedByNamespace = null;
    }
    if (namespace === null) return table.sorted;
    table.sortedByNamespace ??= grouped(table.sorted);
    return table.sortedByNamespace.get(namespace) ?? [];
  }

  count(resource: string): number {
    return this.#table(resource).entries.size;
  }

  resources(): readonly string[] {
    return [...this.#tables.keys()];
  }

  /** The caller has set everything but the resource version. */
  put(resource: string, object: KubeObject, owners: FieldOwners): Entry {
    const table = this.#table(resource);
    const { namespace = '', name = '' } = object.metadata;
    const key = keyOf(namespace, name);
    const previous = table.entries.get(key) ?? null;
    const entry = this.#entry(resource, object, owners);
    table.entries.set(key, entry);
    table.sorted = null;
    if (previous === null) table.keys = null;
    this.#commit(table, {
      type: previous === null ? 'ADDED' : 'MODIFIED',
      entry,
      previous,
      revision: entry.revision,
    });
    return entry;
  }

  /** What a watch is told has the revision of the deletion. */
  remove(resource: string, namespace: string, name: string): Entry | null {
    const table = this.#table(resource);
    const previous = table.entries.get(keyOf(namespace, name));
    if (previous === undefined) return null;
    table.entries.delete(keyOf(namespace, name));
    table.sorted = null;
    table.keys = null;
    const entry = this.#entry(resource, previous.object, previous.owners);
    this.#commit(table, { type: 'DELETED', entry, previous, revision: entry.revision });
    return entry;
  }

  /** Null when the history no longer reaches back that far. */
  changesSince(resource: string, revision: number): readonly Change[] | null {
    const { history, forgotten } = this.#table(resource);
    if (revision < forgotten) return null;
    let [low, high] = [0, history.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((history[middle] as Change).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return history.slice(low);
  }

  subscribe(resource: string, listener: ChangeListener): () => void {
    const { listeners } = this.#table(resource);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  subscribeAll(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As a restarted API server does: what happened before is known only as the state it led to. */
  forgetHistory(): void {
    this.#restored = this.#revision;
    for (const table of this.#tables.values()) {
      table.history = [];
      table.forgotten = this.#revision;
    }
  }

  snapshot(): Snapshot {
    return {
      revision: this.#revision,
      tables: new Map([...this.#tables].map(([resource, { entries }]) => [resource, new Map(entries)])),
    };
  }

  /** As `etcdctl snapshot restore` does: the revision goes back too, and nobody is told. */
  restore({ revision, tables }: Snapshot): void {
    this.#revision = revision;
    for (const [resource, table] of this.#tables) {
      table.entries = new Map(tables.get(resource) ?? []);
      table.sorted = null;
      table.keys = null;
    }
    this.forgetHistory();
  }

  #entry(resource: string, object: KubeObject, owners: FieldOwners): Entry {
    this.#revision += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#revision) };
    return {
      resource,
      namespace: metadata.namespace ?? '',
      name: metadata.name ?? '',
      object: { ...object, metadata },
      revision: this.#revision,
      owners,
      rendered: new Map(),
    };
  }

  #commit(table: Table, change: Change): void {
    table.history.push(change);
    // Dropped in halves, so that the cost of each change stays constant.
    if (table.history.length > this.#historyLimit) {
      const dropped = table.history.splice(0, Math.ceil(this.#historyLimit / 2));
      table.forgotten = (dropped.at(-1) as Change).revision;
    }
    for (const listener of table.listeners) listener(change);
    for (const listener of this.#listeners) listener(change);
  }

  #table(resource: string): Table {
    let table = this.#tables.get(resource);
    if (table === undefined) {
      table = {
        entries: new Map(),
        keys: null,
        sorted: null,
        sortedByNamespace: null,
        history: [],
        forgotten: this.#restored,
        listeners: new Set(),
      };
      this.#tables.set(resource, table);
    }
    return table;
  }
}

// A slash sorts before every character of a name, as in etcd's keys.
const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

function grouped(entries: readonly Entry[]): Map<string, readonly Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.namespace);
    if (group === undefined) groups.set(entry.namespace, [entry]);
    else group.push(entry);
  }
  return groups;
}
