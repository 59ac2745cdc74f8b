// Parses the method and URL of a request as the API server does first
// (k8s.io/apiserver/pkg/endpoints/request/requestinfo.go). Authorisation, faults and counts use the result.
import { selectedName } from '../store/selectors.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export interface ResourceRequest {
  readonly kind: 'resource';
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** '' for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string;
  /** Also set from a field selector for one name: a rule with resourceNames allows such a list. */
  readonly name: string;
  readonly isNamed: boolean;
  readonly subresource: string;
  readonly query: URLSearchParams;
}

export interface PathRequest {
  readonly kind: 'path';
  readonly verb: string;
  readonly path: string;
}

export type RequestInfo = ResourceRequest | PathRequest;

const isTrue = (text: string | null): boolean => text === 'true' || text === '1';

export function requestInfo(method: string, url: string): RequestInfo {
  const { pathname, searchParams: query } = new URL(url, 'https://management-api');
  const parts = pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const verb = method.toLowerCase();
  const [root, ...rest] = parts;
  const [group, version, ...path] =
    root === 'api' ? ['', ...rest] : root === 'apis' ? (rest as [string, ...string[]]) : [''];
  if (version === undefined || path.length === 0) return { kind: 'path', verb, path: pathname };

  let namespace = '';
  let [resource = '', name = '', subresource = ''] = path;
  // `/namespaces/x` is the namespace itself. `/namespaces/x/services` is a collection inside it.
  const isOwnSubresource = path.length === 3 && (path[2] === 'status' || path[2] === 'finalize');
  if (resource === 'namespaces' && path.length > 2 && !isOwnSubresource) {
    namespace = name;
    [, , resource = '', name = '', subresource = ''] = path;
  } else if (resource === 'namespaces') namespace = name;
  const isNamed = name !== '';
  const verbs: Readonly<Record<string, Verb>> = {
    GET: isNamed ? 'get' : isTrue(query.get('watch')) ? 'watch' : 'list',
    HEAD: isNamed ? 'get' : 'list',
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    DELETE: isNamed ? 'delete' : 'deletecollection',
  };
  const asked = isNamed ? name : (selectedName(query.get('fieldSelector')) ?? '');
  return {
    kind: 'resource',
    verb: verbs[method] ?? (verb as Verb),
    group: group ?? '',
    version,
    resource,
    namespace,
    name: verbs[method] === 'create' ? '' : asked,
    isNamed,
    subresource,
    query,
  };
}
