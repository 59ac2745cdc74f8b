// The rules for an object's metadata in a write: fields that only the server sets, and the marks of a deletion.
import { ApiError, conflict } from '../api-error.ts';
import { equalJson, type ObjectMeta, type StoredObject } from '../stored-object.ts';
import type { ResourceType, ServedApi } from '../types/resource-type.ts';
import type { Schema } from '../types/schema.ts';
import { METADATA } from './metadata.ts';

const schemas = new WeakMap<Schema, Schema>();

/** The schema including the metadata, for patches and field ownership. */
export function wholeSchema({ schema }: ServedApi): Schema {
  let whole = schemas.get(schema);
  if (whole === undefined) {
    whole = { ...schema, properties: { ...schema.properties, metadata: METADATA } };
    schemas.set(schema, whole);
  }
  return whole;
}

export const timestamp = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

export const preconditionText = (what: string, asked: string, found: string): string =>
  `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`;

/** Checks the preconditions of a deletion. Only this conflict names the kind; all others name the resource. */
export function refuseOtherThan(
  { group, kind }: ResourceType,
  metadata: ObjectMeta,
  expected: { readonly uid?: string; readonly resourceVersion?: string },
): void {
  for (const [field, what, why] of [
    ['uid', 'UID', 'deleted and then recreated'],
    ['resourceVersion', 'ResourceVersion', 'modified'],
  ] as const)
    if (expected[field] !== undefined && expected[field] !== metadata[field])
      throw conflict(
        { group, kind, plural: kind },
        metadata.name ?? '',
        `the ${what} in the precondition (${expected[field]}) does not match the ${what} in record ` +
          `(${metadata[field]}). The object might have been ${why}`,
      );
}

export function requireNamespace(
  metadata: ObjectMeta,
  namespace: string,
  { namespaced }: ResourceType,
): void {
  const found = metadata.namespace ?? '';
  if (found !== '' && found !== (namespaced ? namespace : ''))
    throw new ApiError(
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
}

/** Restores the fields that clients cannot change, and those that they may omit. */
export function keepSystemMetadata(metadata: ObjectMeta, old: ObjectMeta): void {
  for (const field of [
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generation',
  ] as const)
    if (old[field] === undefined) delete metadata[field];
    else Object.assign(metadata, { [field]: old[field] });
  metadata.uid ??= old.uid as string;
  if (old.generateName !== undefined) metadata.generateName ??= old.generateName;
}

export function withDeletion(metadata: ObjectMeta, finalizers: string[], now: string): ObjectMeta {
  const result: ObjectMeta = {
    ...metadata,
    deletionTimestamp: metadata.deletionTimestamp ?? now,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds ?? 0,
  };
  if (finalizers.length > 0) result.finalizers = finalizers;
  else delete result.finalizers;
  return result;
}

export function changesContent(type: ResourceType, object: StoredObject, old: StoredObject): boolean {
  const { metadata, status, ...content } = object;
  const { metadata: oldMetadata, status: oldStatus, ...oldContent } = old;
  if (!equalJson(content, oldContent)) return true;
  if (!type.storage.hasStatus && !equalJson(status, oldStatus)) return true;
  return type.labelsAreContent && !equalJson(metadata.labels ?? {}, oldMetadata.labels ?? {});
}
