// Does the work of the real controllers for CustomResourceDefinitions and Namespaces. It establishes a definition and serves its
// kind. It deletes the objects in a deleted namespace. Both happen at once; the real controllers need some time.

import type { WatchStream } from '../http/watch-stream.ts';
import { equalJson } from '../stored-object.ts';
import { establishedStatus } from '../types/custom-types.ts';
import { CRD_RESOURCE, type ResourceTable } from '../types/resource-table.ts';
import type { Change, ObjectStore } from './object-store.ts';
import type { ObjectWrites } from './object-writes.ts';
import { timestamp } from './written-metadata.ts';

export interface DefinitionControllerOptions {
  readonly store: ObjectStore;
  readonly table: ResourceTable;
  readonly writes: ObjectWrites;
  readonly watches: ReadonlySet<WatchStream>;
  readonly now: () => Date;
}

export function followDefinitions({ store, table, writes, watches, now }: DefinitionControllerOptions): void {
  const endWatchesOf = (key: string) => {
    for (const watch of [...watches]) if (watch.options.target.type.key === key) watch.end();
  };

  const onDefinition = ({ type, entry, previous }: Change) => {
    if (type === 'DELETED') {
      table.uninstall(entry.name);
      for (const { namespace, name } of store.list(entry.name, null))
        store.remove(entry.name, namespace, name);
      endWatchesOf(entry.name);
      return;
    }
    if (previous !== null && equalJson(previous.object.spec, entry.object.spec)) return;
    table.install(entry.object);
    // The real API server creates a new storage for a changed definition, which ends all its watches.
    if (previous !== null) endWatchesOf(entry.name);
    writes.overwrite(entry, (object) => {
      object.status = establishedStatus(object, timestamp(now()));
    });
  };

  const emptied = (namespace: string) => {
    for (const { key, namespaced } of table.types())
      if (namespaced && store.list(key, namespace).length > 0) return;
    store.remove('namespaces', '', namespace);
  };

  const onNamespace = ({ type, entry }: Change) => {
    if (type === 'DELETED' || entry.object.metadata.deletionTimestamp === undefined) return;
    for (const each of table.types())
      if (each.namespaced)
        for (const { name } of store.list(each.key, entry.name)) {
          const target = { type: each, api: each.storage, namespace: entry.name, name, subresource: '' };
          writes.delete(target, { dryRun: false });
        }
    emptied(entry.name);
  };

  store.subscribeAll((change) => {
    if (change.entry.resource === CRD_RESOURCE) onDefinition(change);
    else if (change.entry.resource === 'namespaces') onNamespace(change);
    else if (change.type === 'DELETED' && change.entry.namespace !== '') {
      const namespace = store.get('namespaces', '', change.entry.namespace);
      if (namespace !== null && namespace.object.metadata.deletionTimestamp !== undefined)
        emptied(namespace.name);
    }
  });
}
