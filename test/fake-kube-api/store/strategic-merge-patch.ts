// The strategic merge patch that kubectl sends for built-in kinds: a merge patch that can merge lists by key. The schema selects
// these lists (x-kubernetes-patch-strategy). `$setElementOrder` is ignored: it only changes the order of the elements.
import { badRequest } from '../api-error.ts';
import { copyOf, equalJson, isMap, type JsonMap } from '../stored-object.ts';
import type { Schema } from '../types/schema.ts';

const isDirective = (key: string): boolean => key.startsWith('$');

export function strategicMergePatch(target: unknown, patch: unknown, schema: Schema | undefined): unknown {
  if (!isMap(patch)) return copyOf(patch);
  const { $patch: directive, $retainKeys: retained } = patch;
  if (directive === 'replace') return withoutDirectives(patch);
  if (directive === 'delete') return undefined;
  const result: JsonMap = isMap(target) ? { ...target } : {};
  if (Array.isArray(retained))
    for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key];
  for (const [key, value] of Object.entries(patch)) {
    const fromPrimitives = /^\$deleteFromPrimitiveList\/(.+)$/.exec(key)?.[1];
    if (fromPrimitives !== undefined && Array.isArray(result[fromPrimitives]) && Array.isArray(value))
      result[fromPrimitives] = (result[fromPrimitives] as unknown[]).filter((each) => !value.includes(each));
    if (isDirective(key)) continue;
    const inner = innerSchema(schema, key);
    if (value === null) delete result[key];
    else if (Array.isArray(value) && inner?.['x-kubernetes-patch-strategy']?.includes('merge') === true)
      result[key] = mergedList(result[key], value, inner);
    else {
      const merged = strategicMergePatch(result[key], value, inner);
      if (merged === undefined) delete result[key];
      else result[key] = merged;
    }
  }
  return result;
}

function innerSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const property = schema?.properties?.[key];
  if (property !== undefined) return property;
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

function mergedList(target: unknown, patch: readonly unknown[], schema: Schema): unknown[] {
  const list = Array.isArray(target) ? [...target] : [];
  const key = schema['x-kubernetes-patch-merge-key'];
  if (key === undefined)
    return [...list, ...patch.filter((each) => !list.some((other) => equalJson(each, other)))];
  if (patch.some((each) => isMap(each) && each.$patch === 'replace'))
    return patch.filter((each) => isMap(each) && each.$patch !== 'replace').map(withoutDirectives);
  for (const each of patch) {
    if (!isMap(each) || each[key] === undefined)
      throw badRequest(`map: ${JSON.stringify(each)} does not contain declared merge key: ${key}`);
    const at = list.findIndex((other) => isMap(other) && equalJson(other[key], each[key]));
    if (each.$patch === 'delete') {
      if (at >= 0) list.splice(at, 1);
    } else if (at >= 0) list[at] = strategicMergePatch(list[at], each, schema.items);
    else list.push(withoutDirectives(each));
  }
  return list;
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, each]) => !isDirective(key) && each !== null)
      .map(([key, each]) => [key, withoutDirectives(each)]),
  );
}
