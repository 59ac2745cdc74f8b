// Builds paths of the Kubernetes API from parts, and parses them for messages and counters. Pure.

export interface ResourceRef {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, as in the path: `services`. */
  readonly resource: string;
  /** Absent: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Encodes every part, so that a name from outside cannot change which resource the path addresses. */
export function resourcePath({
  group,
  version,
  resource,
  namespace,
  name,
  subresource,
}: ResourceRef): string {
  const parts = group === '' ? ['api', version] : ['apis', group, version];
  if (namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(resource);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.map(encodedPart).join('/')}`;
}

function encodedPart(part: string): string {
  // encodeURIComponent does not change `.` and `..`, which would address another path.
  if (part === '' || part === '.' || part === '..')
    throw new TypeError(`"${part}" cannot be a part of a path`);
  return encodeURIComponent(part);
}

export interface PathParts {
  readonly resource: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly subresource: string | null;
}

const NOTHING: PathParts = { resource: null, namespace: null, name: null, subresource: null };

/** Parts before the resource: `/api/<version>`, `/apis/<group>/<version>`. */
const PREFIX_PARTS = new Map([
  ['api', 2],
  ['apis', 3],
]);

/** All fields are null if the path is not a resource: discovery, /readyz. */
export function pathParts(path: string): PathParts {
  const parts = path.split('/').slice(1).map(decodedPart);
  const rest = parts.slice(PREFIX_PARTS.get(parts[0] ?? '') ?? parts.length);
  if (rest[0] === undefined) return NOTHING;
  // `namespaces/x/services` is a resource in a namespace; `namespaces/x` and `namespaces/x/finalize` are the namespace itself.
  if (rest[0] === 'namespaces' && rest[2] !== undefined && rest[2] !== 'finalize' && rest[2] !== 'status') {
    return {
      resource: rest[2],
      namespace: rest[1] ?? null,
      name: rest[3] ?? null,
      subresource: rest[4] ?? null,
    };
  }
  return { resource: rest[0], namespace: null, name: rest[1] ?? null, subresource: rest[2] ?? null };
}

function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The verb as RBAC and `kubectl auth can-i` name it. */
export function verbOf(method: HttpMethod, path: string): string {
  const { resource, name } = pathParts(path);
  const isCollection = resource !== null && name === null;
  switch (method) {
    case 'GET':
      return isCollection ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return isCollection ? 'deletecollection' : 'delete';
  }
}

const MAX_SHOWN = 80;

/** `services in magnum-system`, `services/status "a" in magnum-system`; the path itself if it is not a resource. */
export function shownTarget(path: string): string {
  const { resource, namespace, name, subresource } = pathParts(path);
  if (resource === null) return shown(path);
  const what = subresource === null ? resource : `${resource}/${subresource}`;
  const which = name === null ? '' : ` ${JSON.stringify(shown(name))}`;
  return `${shown(what)}${which}${namespace === null ? '' : ` in ${shown(namespace)}`}`;
}

const shown = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
