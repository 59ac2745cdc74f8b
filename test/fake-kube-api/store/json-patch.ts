// RFC 6902 (JSON patch) and RFC 7386 (merge patch). Both return a new value and do not change the old one.
import { ApiError, badRequest } from '../api-error.ts';
import { copyOf, equalJson, isMap, type JsonMap } from '../stored-object.ts';

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return copyOf(patch);
  const result: JsonMap = isMap(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** A patch that does not fit the object, such as a failed `test`. */
const doesNotFit = (): ApiError =>
  new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request');

interface Operation {
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[];
  readonly value: unknown;
}

function pointer(text: unknown): readonly string[] {
  if (typeof text !== 'string' || (text !== '' && !text.startsWith('/')))
    throw badRequest(`error decoding patch: ${JSON.stringify(text)} is no JSON pointer`);
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function operationsOf(patch: unknown): Operation[] {
  if (!Array.isArray(patch))
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch',
    );
  return patch.map((each) => {
    if (!isMap(each) || typeof each.op !== 'string')
      throw badRequest('error decoding patch: an operation has no op');
    const needsFrom = each.op === 'move' || each.op === 'copy';
    return {
      op: each.op,
      path: pointer(each.path),
      from: needsFrom ? pointer(each.from) : [],
      value: each.value,
    };
  });
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let found = root;
  for (const key of path) {
    if (Array.isArray(found)) found = found[indexIn(found, key, found.length - 1)];
    else if (isMap(found) && Object.hasOwn(found, key)) found = found[key];
    else throw doesNotFit();
  }
  return found;
}

function indexIn(list: readonly unknown[], key: string, last: number): number {
  const index = Number(key);
  if (!/^(0|[1-9]\d*)$/.test(key) || index > last || index > list.length) throw doesNotFit();
  return index;
}

function add(root: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value;
  const parent = valueAt(root, path.slice(0, -1));
  const key = path.at(-1) as string;
  if (Array.isArray(parent))
    parent.splice(key === '-' ? parent.length : indexIn(parent, key, parent.length), 0, value);
  else if (isMap(parent)) parent[key] = value;
  else throw doesNotFit();
  return root;
}

function remove(root: unknown, path: readonly string[]): unknown {
  const parent = valueAt(root, path.slice(0, -1));
  const key = path.at(-1);
  if (key === undefined) throw doesNotFit();
  if (Array.isArray(parent)) parent.splice(indexIn(parent, key, parent.length - 1), 1);
  else if (isMap(parent) && Object.hasOwn(parent, key)) delete parent[key];
  else throw doesNotFit();
  return root;
}

export function jsonPatch(target: unknown, patch: unknown): unknown {
  let result: unknown = copyOf(target);
  for (const { op, path, from, value } of operationsOf(patch)) {
    switch (op) {
      case 'add':
        result = add(result, path, copyOf(value));
        break;
      case 'remove':
        result = remove(result, path);
        break;
      case 'replace':
        valueAt(result, path);
        result = path.length === 0 ? copyOf(value) : add(remove(result, path), path, copyOf(value));
        break;
      case 'move':
      case 'copy': {
        const moved = copyOf(valueAt(result, from));
        if (op === 'move') result = remove(result, from);
        result = add(result, path, moved);
        break;
      }
      case 'test':
        if (!equalJson(valueAt(result, path), value)) throw doesNotFit();
        break;
      default:
        throw badRequest(`error decoding patch: unknown operation ${JSON.stringify(op)}`);
    }
  }
  return result;
}
