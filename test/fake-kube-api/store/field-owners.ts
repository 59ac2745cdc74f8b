// Field ownership of server-side apply, as far as clients see it. A manager owns the fields it applies. A change by another manager
// is a conflict unless forced. A field that its manager no longer applies is removed.
// Simplified: ownership is not shown (no metadata.managedFields), and a field is a leaf, never an entire map.
import { ApiError, type StatusCause } from '../api-error.ts';
import { copyOf, equalJson, isMap, type JsonMap, type StoredObject } from '../stored-object.ts';
import type { Schema } from '../types/schema.ts';

export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
}

interface Owner {
  readonly manager: Manager;
  readonly fields: ReadonlySet<string>;
}

/**
 * Most objects have one writer that owns all fields. For these only the manager is stored (`sole`): the field sets of 20 000 slices
 * would need more memory than the slices.
 */
export type FieldOwners =
  | { readonly kind: 'sole'; readonly manager: Manager }
  | { readonly kind: 'shared'; readonly owners: readonly Owner[] };

export const soleOwner = (manager: Manager): FieldOwners => ({ kind: 'sole', manager });

const isSame = (left: Manager, right: Manager): boolean =>
  left.name === right.name && left.operation === right.operation && left.subresource === right.subresource;

/** Each step is a key of a map, or the key of an element in a keyed list. */
type Path = readonly string[];

const SYSTEM_FIELDS: ReadonlySet<string> = new Set(
  ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp']
    .concat(['deletionGracePeriodSeconds', 'generateName', 'selfLink', 'managedFields'])
    .map((field) => JSON.stringify(['metadata', field])),
);

function elementKey(schema: Schema | undefined, element: unknown): string | null {
  if (schema?.['x-kubernetes-list-type'] === 'set') return JSON.stringify(element);
  const keys = schema?.['x-kubernetes-list-map-keys'];
  if (schema?.['x-kubernetes-list-type'] !== 'map' || keys === undefined || !isMap(element)) return null;
  // `protocol` is the only list key with a default.
  return JSON.stringify(keys.map((key) => element[key] ?? (key === 'protocol' ? 'TCP' : null)));
}

const isKeyed = (schema: Schema | undefined): boolean =>
  schema?.['x-kubernetes-list-type'] === 'map' || schema?.['x-kubernetes-list-type'] === 'set';

const innerSchema = (schema: Schema | undefined, key: string): Schema | undefined =>
  schema?.properties?.[key] ??
  (typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined);

function collect(value: unknown, schema: Schema | undefined, path: Path, leaves: Map<string, unknown>): void {
  if (isMap(value) && Object.keys(value).length > 0)
    for (const [key, each] of Object.entries(value))
      collect(each, innerSchema(schema, key), [...path, key], leaves);
  else if (Array.isArray(value) && isKeyed(schema) && value.length > 0)
    for (const each of value) {
      const element = [...path, elementKey(schema, each) ?? ''];
      // The element itself has an owner too. When the owner drops it, the defaults that the server set inside are removed too.
      leaves.set(JSON.stringify(element), true);
      if (isMap(each)) collect(each, schema?.items, element, leaves);
    }
  else leaves.set(JSON.stringify(path), value);
}

function leavesOf(object: StoredObject, schema: Schema): Map<string, unknown> {
  const { apiVersion: _apiVersion, kind: _kind, ...content } = object;
  const leaves = new Map<string, unknown>();
  collect(content, schema, [], leaves);
  for (const field of SYSTEM_FIELDS) leaves.delete(field);
  return leaves;
}

function materialised(owners: FieldOwners, leaves: ReadonlyMap<string, unknown>): readonly Owner[] {
  return owners.kind === 'shared'
    ? owners.owners
    : [{ manager: owners.manager, fields: new Set(leaves.keys()) }];
}

/** Ownership after a create, update or patch: the manager owns each field that it changed. */
export function ownersAfterUpdate(
  before: { readonly object: StoredObject; readonly owners: FieldOwners } | null,
  after: StoredObject,
  schema: Schema,
  manager: Manager,
): FieldOwners {
  if (before === null) return soleOwner(manager);
  if (before.owners.kind === 'sole' && isSame(before.owners.manager, manager)) return before.owners;
  const [old, now] = [leavesOf(before.object, schema), leavesOf(after, schema)];
  const changed = new Set(
    [...now]
      .filter(([path, value]) => !old.has(path) || !equalJson(old.get(path), value))
      .map(([path]) => path),
  );
  const owners = materialised(before.owners, old).map((owner) => ({
    manager: owner.manager,
    fields: new Set([...owner.fields].filter((path) => now.has(path) && !changed.has(path))),
  }));
  const mine = owners.find((owner) => isSame(owner.manager, manager));
  const fields = new Set([...(mine?.fields ?? []), ...changed]);
  return withOwner(owners, manager, fields);
}

function withOwner(owners: readonly Owner[], manager: Manager, fields: ReadonlySet<string>): FieldOwners {
  const others = owners.filter((owner) => !isSame(owner.manager, manager) && owner.fields.size > 0);
  return { kind: 'shared', owners: fields.size === 0 ? others : [...others, { manager, fields }] };
}

export interface Applied {
  readonly object: StoredObject;
  readonly owners: FieldOwners;
}

/** `live` is null when the apply creates the object. Throws on a conflict, unless forced. */
export function applyConfiguration(
  live: { readonly object: StoredObject; readonly owners: FieldOwners } | null,
  configuration: StoredObject,
  { schema, manager, force }: { readonly schema: Schema; readonly manager: Manager; readonly force: boolean },
): Applied {
  const applied = leavesOf(configuration, schema);
  const fields: ReadonlySet<string> = new Set(applied.keys());
  if (live === null) return { object: copyOf(configuration), owners: withOwner([], manager, fields) };
  const current = leavesOf(live.object, schema);
  const owners = materialised(live.owners, current);
  const others = owners.filter((owner) => !isSame(owner.manager, manager));
  const taken = [...applied]
    .filter(([path, value]) => !equalJson(current.get(path), value))
    .map(([path]) => path);
  if (!force) refuseConflicts(others, taken);
  const lost = new Set(taken);
  const remaining = others.map(({ manager: other, fields: owned }) => ({
    manager: other,
    fields: new Set([...owned].filter((path) => !lost.has(path))),
  }));
  const mine = owners.find((owner) => isSame(owner.manager, manager));
  const abandoned = [...(mine?.fields ?? [])].filter(
    (path) => !fields.has(path) && !remaining.some((owner) => owner.fields.has(path)),
  );
  const object = merged(live.object, configuration, schema) as StoredObject;
  for (const path of abandoned) removeLeaf(object, schema, JSON.parse(path) as string[]);
  return { object, owners: withOwner(remaining, manager, fields) };
}

function refuseConflicts(others: readonly Owner[], taken: readonly string[]): void {
  const causes: StatusCause[] = [];
  for (const path of taken)
    for (const { manager, fields } of others)
      if (fields.has(path))
        causes.push({
          reason: 'FieldManagerConflict',
          message: `conflict with "${manager.name}"`,
          field: `.${(JSON.parse(path) as string[]).join('.')}`,
        });
  if (causes.length === 0) return;
  const all = causes.map(({ message, field }) => `${message}: ${field}`);
  const message = `Apply failed with ${causes.length} conflict${causes.length === 1 ? '' : 's'}: ${all.join('\n')}`;
  throw new ApiError(409, 'Conflict', message, { causes });
}

/** Merges the configuration into the live object. Keyed lists merge by element; other lists are replaced. */
function merged(live: unknown, configuration: unknown, schema: Schema | undefined): unknown {
  if (isMap(configuration) && isMap(live)) {
    const result: JsonMap = { ...live };
    for (const [key, value] of Object.entries(configuration))
      result[key] = merged(live[key], value, innerSchema(schema, key));
    return result;
  }
  if (Array.isArray(configuration) && Array.isArray(live) && isKeyed(schema)) {
    const result = [...live];
    for (const each of configuration) {
      const key = elementKey(schema, each);
      const at = result.findIndex((other) => elementKey(schema, other) === key);
      if (at < 0) result.push(copyOf(each));
      else result[at] = merged(result[at], each, schema?.items);
    }
    return result;
  }
  return copyOf(configuration);
}

/** Also removes containers that become empty. Copies each container on the path, because the live object shares it. */
function removeLeaf(
  container: JsonMap,
  schema: Schema | undefined,
  [step, ...rest]: readonly string[],
): void {
  if (step === undefined) return;
  const inner = innerSchema(schema, step);
  const value = container[step];
  if (rest.length === 0) {
    delete container[step];
    return;
  }
  if (isMap(value)) {
    const copy = { ...value };
    removeLeaf(copy, inner, rest);
    if (Object.keys(copy).length === 0) delete container[step];
    else container[step] = copy;
  } else if (Array.isArray(value)) {
    const [key, ...below] = rest;
    const list = value.flatMap((each) => {
      if (elementKey(inner, each) !== key) return [each];
      if (below.length === 0 || !isMap(each)) return [];
      const copy = { ...each };
      removeLeaf(copy, inner?.items, below);
      return [copy];
    });
    if (list.length === 0) delete container[step];
    else container[step] = list;
  }
}
