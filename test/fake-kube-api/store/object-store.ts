// The storage of the management API: all objects by resource and namespace, one revision counter for all as in etcd, and a bounded
// history of changes for watches. It has no code for kinds, verbs or HTTP.

import type { StoredObject } from '../stored-object.ts';
import type { FieldOwners } from './field-owners.ts';

/** One version of one object. It is immutable, so lists, watches and snapshots can share it. */
export interface Entry {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** In the API version that was the storage version at the time of the write. */
  readonly object: StoredObject;
  readonly revision: number;
  readonly owners: FieldOwners;
  /** Cached JSON by requested form. All lists and watches share it. */
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
  /** Sorted as in etcd. null after an object was added or removed. */
  keys: readonly string[] | null;
  /** In the order of `keys`. null after any change. */
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

/** Not 1: as in every real cluster, there are older revisions that are no longer in the history. */
const FIRST_REVISION = 100;

export class ObjectStore {
  readonly #historyLimit: number;
  readonly #tables = new Map<string, Table>();
  readonly #listeners = new Set<ChangeListener>();
  #revision = FIRST_REVISION;
  /** No table has changes up to this revision in its history. */
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

  /** Sorted by `<namespace>/<name>`. A null namespace lists all of them. */
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

  /** Sets the resource version. The caller sets everything else. */
  put(resource: string, object: StoredObject, owners: FieldOwners): Entry {
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

  /** Returns the deleted object with the revision of the deletion. Watches get the same entry. */
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

  /** null when the history does not reach back that far. */
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

  /** Drops the history and keeps the state, as after a restart of the API server. */
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

  /** As `etcdctl snapshot restore`: the revision goes back too, and no watch gets an event. */
  restore({ revision, tables }: Snapshot): void {
    this.#revision = revision;
    for (const [resource, table] of this.#tables) {
      table.entries = new Map(tables.get(resource) ?? []);
      table.sorted = null;
      table.keys = null;
    }
    this.forgetHistory();
  }

  #entry(resource: string, object: StoredObject, owners: FieldOwners): Entry {
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
    // Drops half of the history at a time, so the average cost of a change is constant.
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

// The same layout as the keys in etcd, so the sort order is the same.
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
