// The garbage collector of kube-controller-manager for ownerReferences. It deletes dependents without any remaining owner, and
// completes foreground and orphan deletions. It is off by default: the real one is a separate process and needs some time.

import { groupVersionOf, type OwnerReference } from '../stored-object.ts';
import type { ResourceTable } from '../types/resource-table.ts';
import type { Change, Entry, ObjectStore } from './object-store.ts';
import type { ObjectWrites } from './object-writes.ts';

export class GarbageCollector {
  readonly #store: ObjectStore;
  readonly #writes: ObjectWrites;
  readonly #table: ResourceTable;
  /** The dependents by uid of the owner, as resource, namespace and name. */
  readonly #dependents = new Map<string, Set<string>>();
  readonly #queue = new Set<string>();
  #enabled = false;
  #planned = false;

  constructor(options: {
    readonly store: ObjectStore;
    readonly writes: ObjectWrites;
    readonly table: ResourceTable;
  }) {
    this.#store = options.store;
    this.#writes = options.writes;
    this.#table = options.table;
    options.store.subscribeAll((change) => this.#onChange(change));
  }

  /** Starts with a check of all existing objects. */
  enable(): void {
    this.#enabled = true;
    for (const resource of this.#store.resources())
      for (const entry of this.#store.list(resource, null)) {
        this.#index(entry, true);
        this.#enqueue(keyOf(entry));
      }
  }

  disable(): void {
    this.#enabled = false;
    this.#queue.clear();
  }

  #onChange({ type, entry, previous }: Change): void {
    if (previous !== null) this.#index(previous, false);
    if (type !== 'DELETED') this.#index(entry, true);
    if (!this.#enabled) return;
    this.#enqueue(keyOf(entry));
    if (type === 'DELETED')
      for (const dependent of this.#dependents.get(entry.object.metadata.uid ?? '') ?? [])
        this.#enqueue(dependent);
    // The owner's foreground deletion may wait for this object.
    for (const owner of entry.object.metadata.ownerReferences ?? []) {
      const found = this.#find(owner, entry.namespace);
      if (found !== null) this.#enqueue(keyOf(found));
    }
  }

  #index(entry: Entry, present: boolean): void {
    for (const { uid } of entry.object.metadata.ownerReferences ?? []) {
      const keys = this.#dependents.get(uid) ?? new Set();
      if (present) this.#dependents.set(uid, keys.add(keyOf(entry)));
      else if (keys.delete(keyOf(entry)) && keys.size === 0) this.#dependents.delete(uid);
    }
  }

  #enqueue(key: string): void {
    this.#queue.add(key);
    if (this.#planned) return;
    this.#planned = true;
    setImmediate(() => {
      this.#planned = false;
      const keys = [...this.#queue];
      this.#queue.clear();
      if (this.#enabled) for (const each of keys) this.#look(each);
    });
  }

  #look(key: string): void {
    const [resource = '', namespace = '', name = ''] = key.split(' ');
    const entry = this.#store.get(resource, namespace, name);
    if (entry === null) return;
    const { metadata } = entry.object;
    if (metadata.deletionTimestamp !== undefined) {
      this.#finishDeletion(entry);
      return;
    }
    const references = metadata.ownerReferences ?? [];
    if (references.length === 0) return;
    const owners = references.map((reference) => ({ reference, owner: this.#find(reference, namespace) }));
    const isWaiting = (owner: Entry | null) =>
      owner?.object.metadata.finalizers?.includes('foregroundDeletion') === true &&
      owner.object.metadata.deletionTimestamp !== undefined;
    const alive = owners.filter(({ owner }) => owner !== null && !isWaiting(owner));
    if (alive.length === references.length) return;
    if (alive.length > 0) {
      this.#writes.overwrite(entry, (object) => {
        object.metadata.ownerReferences = alive.map(({ reference }) => reference);
      });
      return;
    }
    const type = this.#table.type(resource);
    if (type === null) return;
    const policy = owners.some(({ owner }) => isWaiting(owner)) ? 'Foreground' : 'Background';
    const uid = metadata.uid as string;
    const target = { type, api: type.storage, namespace, name, subresource: '' };
    this.#writes.delete(target, { uid, propagationPolicy: policy, dryRun: false });
  }

  #finishDeletion(entry: Entry): void {
    const { finalizers = [], uid = '' } = entry.object.metadata;
    const dependents = [...(this.#dependents.get(uid) ?? [])];
    const finish = (finalizer: string) => {
      this.#writes.overwrite(entry, (object) => {
        object.metadata.finalizers = finalizers.filter((each) => each !== finalizer);
        if (object.metadata.finalizers.length === 0) delete object.metadata.finalizers;
      });
    };
    if (finalizers.includes('orphan')) {
      for (const key of dependents) {
        const [resource = '', namespace = '', name = ''] = key.split(' ');
        const dependent = this.#store.get(resource, namespace, name);
        if (dependent !== null)
          this.#writes.overwrite(dependent, (object) => {
            object.metadata.ownerReferences = (object.metadata.ownerReferences ?? []).filter(
              (each) => each.uid !== uid,
            );
            if (object.metadata.ownerReferences.length === 0) delete object.metadata.ownerReferences;
          });
      }
      finish('orphan');
    } else if (finalizers.includes('foregroundDeletion')) {
      const blocking = dependents.filter((key) => {
        const [resource = '', namespace = '', name = ''] = key.split(' ');
        const references = this.#store.get(resource, namespace, name)?.object.metadata.ownerReferences ?? [];
        return references.some((each) => each.uid === uid && each.blockOwnerDeletion === true);
      });
      for (const key of dependents) this.#enqueue(key);
      if (blocking.length === 0) finish('foregroundDeletion');
    }
  }

  #find({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): Entry | null {
    const found = this.#table.ofKind(groupVersionOf(apiVersion), kind);
    if (found === null) return null;
    const entry = this.#store.get(found.type.key, found.type.namespaced ? namespace : '', name);
    return entry !== null && entry.object.metadata.uid === uid ? entry : null;
  }
}

const keyOf = ({ resource, namespace, name }: Entry): string => `${resource} ${namespace} ${name}`;
