// Implements create, update, patch, apply and delete, with the checks in the order of the real API server (registry/rest and
// registry/generic). The controllers' changes to objects use this class too.
import { randomBytes, randomUUID } from 'node:crypto';
import {
  alreadyExists,
  badRequest,
  conflict,
  type FieldProblem,
  forbidden,
  invalid,
  modified,
  notFound,
} from '../api-error.ts';
import { copyOf, equalJson, isMap, type StoredObject } from '../stored-object.ts';
import { definitionProblems } from '../types/custom-types.ts';
import { CRD_RESOURCE } from '../types/resource-table.ts';
import type { ApiOfType, ResourceType } from '../types/resource-type.ts';
import { applyConfiguration, type FieldOwners, type Manager, ownersAfterUpdate } from './field-owners.ts';
import { jsonPatch, mergePatch } from './json-patch.ts';
import { metadataProblems, metadataUpdateProblems } from './metadata.ts';
import { contentProblems, decodeObject, decodePatched, type FieldValidation } from './object-decoding.ts';
import type { Entry, ObjectStore } from './object-store.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';
import {
  changesContent,
  keepSystemMetadata,
  preconditionText,
  refuseOtherThan,
  requireNamespace,
  timestamp,
  wholeSchema,
  withDeletion,
} from './written-metadata.ts';

export interface Target extends ApiOfType {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

export interface WriteOptions {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
}

export interface Written {
  readonly entry: Entry;
  readonly created: boolean;
  readonly warnings: readonly string[];
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: string;
  readonly dryRun: boolean;
}

/** `gone` is false when finalizers keep the object: it is only marked for deletion. */
export interface Deleted {
  readonly entry: Entry;
  readonly gone: boolean;
}

const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';

export class ObjectWrites {
  readonly #store: ObjectStore;
  readonly #now: () => Date;

  constructor({ store, now }: { readonly store: ObjectStore; readonly now: () => Date }) {
    this.#store = store;
    this.#now = now;
  }

  create(target: Target, body: unknown, options: WriteOptions): Written {
    const { object, warnings } = decodeObject(body, target, options.fieldValidation);
    const manager = managerOf(options, target, 'Update');
    const entry = this.#create(target, object, options.dryRun, (created) =>
      ownersAfterUpdate(null, created, wholeSchema(target.type.storage), manager),
    );
    return { entry, created: true, warnings };
  }

  update(target: Target, body: unknown, options: WriteOptions): Written {
    const { object, warnings } = decodeObject(body, target, options.fieldValidation);
    const { type, name } = target;
    const { metadata } = object;
    if (metadata.name === undefined || metadata.name === '') throw badRequest('name must be provided');
    if (metadata.name !== name)
      throw badRequest(
        `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
      );
    const old = this.#store.get(type.key, target.namespace, name);
    if (old === null) {
      if (!type.createOnUpdate || target.subresource !== '') throw notFound(type, name);
      if (metadata.uid !== undefined) throw conflict(type, name, preconditionText('UID', metadata.uid, ''));
      const manager = managerOf(options, target, 'Update');
      const entry = this.#create(target, object, options.dryRun, (created) =>
        ownersAfterUpdate(null, created, wholeSchema(type.storage), manager),
      );
      return { entry, created: true, warnings };
    }
    const { resourceVersion, uid } = metadata;
    if (uid !== undefined && uid !== old.object.metadata.uid)
      throw conflict(type, name, preconditionText('UID', uid, old.object.metadata.uid ?? ''));
    if (resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0') {
      if (!type.unconditionalUpdate)
        throw invalid(type, name, [
          {
            path: 'metadata.resourceVersion',
            reason: 'FieldValueInvalid',
            message: 'Invalid value: 0: must be specified for an update',
          },
        ]);
      metadata.resourceVersion = String(old.revision);
    } else if (resourceVersion !== String(old.revision)) throw modified(type, name);
    const entry = this.#replace(target, old, object, options, 'Update');
    return { entry, created: false, warnings };
  }

  patch(
    target: Target,
    patchType: PatchType,
    patch: unknown,
    options: WriteOptions & { readonly force: boolean },
  ): Written {
    if (patchType === 'apply') return this.#apply(target, patch, options);
    const { type, api, name } = target;
    const old = this.#store.get(type.key, target.namespace, name);
    if (old === null) throw notFound(type, name);
    const current = type.convert(old.object, api);
    if (patchType !== 'json' && !isMap(patch))
      throw badRequest('error decoding patch: json: cannot unmarshal it into Go value of type map');
    const patched =
      patchType === 'json'
        ? jsonPatch(current, patch)
        : patchType === 'merge'
          ? mergePatch(current, patch)
          : strategicMergePatch(current, patch, wholeSchema(api));
    const { object, warnings } = decodePatched(patched, target, options.fieldValidation);
    if (
      object.metadata.resourceVersion !== undefined &&
      object.metadata.resourceVersion !== String(old.revision)
    )
      throw modified(type, name);
    object.metadata.resourceVersion = String(old.revision);
    if (object.metadata.name !== name)
      throw badRequest(
        `the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`,
      );
    return { entry: this.#replace(target, old, object, options, 'Update'), created: false, warnings };
  }

  delete(target: Target, options: DeleteOptions): Deleted {
    const { type, namespace, name } = target;
    const old = this.#store.get(type.key, namespace, name);
    if (old === null) throw notFound(type, name);
    const { metadata } = old.object;
    refuseOtherThan(type, metadata, options);
    const finalizers = new Set(metadata.finalizers ?? []);
    if (options.propagationPolicy === 'Foreground') finalizers.add(FOREGROUND).delete(ORPHAN);
    else if (options.propagationPolicy === 'Orphan') finalizers.add(ORPHAN).delete(FOREGROUND);
    else if (options.propagationPolicy === 'Background') {
      finalizers.delete(FOREGROUND);
      finalizers.delete(ORPHAN);
    }
    const isNamespace = type.key === 'namespaces';
    if (finalizers.size === 0 && !isNamespace) {
      if (options.dryRun) return { entry: old, gone: true };
      return { entry: this.#store.remove(type.key, namespace, name) ?? old, gone: true };
    }
    const marked: StoredObject = {
      ...old.object,
      ...(isNamespace ? { status: { phase: 'Terminating' } } : {}),
      metadata: withDeletion(old.object.metadata, [...finalizers], timestamp(this.#now())),
    };
    if (options.dryRun || equalJson(marked, old.object)) return { entry: old, gone: false };
    if (type.hasGeneration && metadata.deletionTimestamp === undefined)
      marked.metadata.generation = (metadata.generation ?? 0) + 1;
    return { entry: this.#store.put(type.key, marked, old.owners), gone: false };
  }

  /** For the server's own controllers: without validation and field ownership. */
  overwrite(entry: Entry, change: (object: StoredObject) => void): Entry {
    const object = copyOf(entry.object);
    change(object);
    if (equalJson(object, entry.object)) return entry;
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0)
      return this.#store.remove(entry.resource, entry.namespace, entry.name) ?? entry;
    return this.#store.put(entry.resource, object, entry.owners);
  }

  #apply(target: Target, body: unknown, options: WriteOptions & { readonly force: boolean }): Written {
    const { type, api, namespace, name } = target;
    const { object: configuration, warnings } = decodeObject(body, target, options.fieldValidation);
    const given = configuration.metadata.name ?? '';
    if (given !== '' && given !== name)
      throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
    const manager = managerOf(options, target, 'Apply');
    const old = this.#store.get(type.key, namespace, name);
    if (old === null && given === '')
      throw badRequest(
        `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
      );
    const asked = configuration.metadata.resourceVersion;
    if (old !== null && asked !== undefined && asked !== String(old.revision)) throw modified(type, name);
    if (old === null && configuration.metadata.uid !== undefined)
      throw conflict(
        type,
        name,
        'uid mismatch: the provided object specified uid, and no existing object was found',
      );
    const live = old === null ? null : { object: type.convert(old.object, api), owners: old.owners };
    const settings = { schema: wholeSchema(api), manager, force: options.force };
    const { object, owners } = applyConfiguration(live, configuration, settings);
    if (old === null) {
      if (target.subresource !== '') throw notFound(type, name);
      return { entry: this.#create(target, object, options.dryRun, () => owners), created: true, warnings };
    }
    object.metadata.resourceVersion = String(old.revision);
    const entry = this.#replace(
      target,
      old,
      decodePatched(object, target, 'Ignore').object,
      options,
      'Apply',
      owners,
    );
    return { entry, created: false, warnings };
  }

  #create(
    target: Target,
    object: StoredObject,
    dryRun: boolean,
    ownersOf: (object: StoredObject) => FieldOwners,
  ): Entry {
    const { type, api, namespace } = target;
    const { metadata } = object;
    requireNamespace(metadata, namespace, type);
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== '')
      throw badRequest('resourceVersion should not be set on objects to be created');
    const generated = metadata.name === undefined || metadata.name === '';
    if (generated && metadata.generateName !== undefined)
      metadata.name = this.#generatedName(metadata.generateName);
    if (type.namespaced) this.#requireLiveNamespace(type, namespace, metadata.name ?? '');
    delete metadata.deletionTimestamp;
    delete metadata.deletionGracePeriodSeconds;
    delete metadata.generation;
    metadata.uid = randomUUID();
    metadata.creationTimestamp = timestamp(this.#now());
    if (type.namespaced) metadata.namespace = namespace;
    if (type.hasGeneration) metadata.generation = 1;
    if (api.hasStatus && type.custom) delete object.status;
    const requested = contentProblems(target, object);
    const stored = type.convert(object, type.storage);
    type.prepare(stored, null);
    refuse(type, metadata.name ?? '', [
      ...metadataProblems(metadata, type.nameRule),
      ...requested,
      ...type.problems(stored, null, api),
      ...(type.key === CRD_RESOURCE ? definitionProblems(stored) : []),
    ]);
    if (this.#store.get(type.key, namespace, metadata.name as string) !== null)
      throw alreadyExists(type, metadata.name as string);
    return dryRun ? unsaved(type, stored) : this.#store.put(type.key, stored, ownersOf(stored));
  }

  #replace(
    target: Target,
    old: Entry,
    object: StoredObject,
    options: WriteOptions,
    operation: Manager['operation'],
    owners?: FieldOwners,
  ): Entry {
    const { type, api, namespace, name, subresource } = target;
    const { metadata } = object;
    requireNamespace(metadata, namespace, type);
    const before = type.convert(old.object, api);
    let next: StoredObject;
    if (subresource === 'status') {
      next = { ...copyOf(before), status: object.status };
      if (object.status === undefined) delete next.status;
    } else {
      next = object;
      if (api.hasStatus) {
        if (before.status === undefined) delete next.status;
        else next.status = copyOf(before.status);
      }
      keepSystemMetadata(metadata, before.metadata);
      if (type.namespaced) metadata.namespace ??= namespace;
    }
    const requested = contentProblems(target, next);
    const stored = copyOf(type.convert(next, type.storage));
    const oldStored = type.convert(old.object, type.storage);
    type.prepare(stored, oldStored);
    refuse(type, name, [
      ...metadataProblems(stored.metadata, type.nameRule),
      ...metadataUpdateProblems(stored.metadata, oldStored.metadata),
      ...requested,
      ...type.problems(stored, oldStored, api),
      ...(type.key === CRD_RESOURCE ? definitionProblems(stored) : []),
    ]);
    if (type.hasGeneration && changesContent(type, stored, oldStored))
      stored.metadata.generation = (oldStored.metadata.generation ?? 0) + 1;
    const nextOwners =
      owners ??
      ownersAfterUpdate(
        { object: oldStored, owners: old.owners },
        stored,
        wholeSchema(type.storage),
        managerOf(options, target, operation),
      );
    // A write without a change creates no revision and no event.
    if (equalJson(stored, old.object)) {
      const kept = { ...old, owners: nextOwners };
      return owners === undefined || options.dryRun ? old : this.#keepOwners(kept, old);
    }
    if (options.dryRun) return unsaved(type, stored);
    if (stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0)
      return this.#removed(type.key, stored, nextOwners);
    return this.#store.put(type.key, stored, nextOwners);
  }

  /** The real API server stores a changed owner even if the values are the same. The object then gets a new revision. */
  #keepOwners(kept: Entry, old: Entry): Entry {
    return JSON.stringify(ownersText(kept.owners)) === JSON.stringify(ownersText(old.owners))
      ? old
      : this.#store.put(kept.resource, kept.object, kept.owners);
  }

  /** This write removes the last finalizer, so it also removes the object. */
  #removed(resource: string, object: StoredObject, owners: FieldOwners): Entry {
    const { namespace = '', name = '' } = object.metadata;
    this.#store.put(resource, object, owners);
    return this.#store.remove(resource, namespace, name) as Entry;
  }

  #generatedName(prefix: string): string {
    const suffix = [...randomBytes(5)].map((byte) => NAME_ALPHABET[byte % NAME_ALPHABET.length]).join('');
    return `${prefix.slice(0, 58)}${suffix}`;
  }

  #requireLiveNamespace(type: ResourceType, namespace: string, name: string): void {
    const found = this.#store.get('namespaces', '', namespace);
    if (found === null) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
    if (found.object.metadata.deletionTimestamp !== undefined)
      throw forbidden(
        type,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      );
  }
}

const managerOf = (options: WriteOptions, target: Target, operation: Manager['operation']): Manager => ({
  name: options.manager,
  operation,
  subresource: target.subresource,
});

const ownersText = (owners: FieldOwners): unknown =>
  owners.kind === 'sole'
    ? owners.manager
    : owners.owners.map(({ manager, fields }) => [manager, [...fields].sort()]);

function refuse(type: ResourceType, name: string, problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw invalid(type, name, problems);
}

/** The result of a dry run. */
function unsaved(type: ResourceType, object: StoredObject): Entry {
  const { namespace = '', name = '' } = object.metadata;
  const owners: FieldOwners = { kind: 'shared', owners: [] };
  return { resource: type.key, namespace, name, object, revision: 0, owners, rendered: new Map() };
}
