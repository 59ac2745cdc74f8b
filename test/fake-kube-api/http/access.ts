// A small RBAC: the rights of each user, as the rules of a Role, and the error messages of the real authoriser.
import { ApiError, type Named } from '../api-error.ts';
import type { RequestInfo, ResourceRequest } from './request-info.ts';

/** A rule of a Role (with its namespace) or of a ClusterRole (without). `*` is everything, as in RBAC. */
export interface AccessRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly namespace?: string;
}

export type Access = 'everything' | readonly AccessRule[];

export const ANONYMOUS = 'system:anonymous';

/** Open to all clients: ClusterRole system:public-info-viewer. */
const PUBLIC = /^\/(version|healthz|livez|readyz)(\/|$)/;
/** Open to all authenticated users: ClusterRoles system:discovery and system:basic-user. */
const DISCOVERY = /^\/(api|apis|openapi)(\/|$)/;
const SELF_REVIEWS = new Set(['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews']);

const has = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(value));

export type AccessQuestion = Pick<
  ResourceRequest,
  'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name'
>;

export class AccessControl {
  readonly #access: Map<string, Access>;

  /** A user without an entry may do everything. */
  constructor(access: ReadonlyMap<string, Access>) {
    this.#access = new Map(access);
  }

  set(user: string, access: Access): void {
    this.#access.set(user, access);
  }

  rulesOf(user: string): Access {
    return user === ANONYMOUS ? [] : (this.#access.get(user) ?? 'everything');
  }

  allows(user: string, question: AccessQuestion): boolean {
    const rules = this.rulesOf(user);
    if (rules === 'everything') return true;
    const resource =
      question.subresource === '' ? question.resource : `${question.resource}/${question.subresource}`;
    return rules.some(
      (rule) =>
        has(rule.verbs, question.verb) &&
        has(rule.apiGroups, question.group) &&
        has(rule.resources, resource) &&
        (rule.namespace === undefined || rule.namespace === question.namespace) &&
        (rule.resourceNames === undefined ||
          rule.resourceNames.length === 0 ||
          rule.resourceNames.includes(question.name)),
    );
  }

  /** Throws a 403 error if the user lacks the right. */
  require(user: string, request: RequestInfo): void {
    if (request.kind === 'path') {
      if (PUBLIC.test(request.path) || (user !== ANONYMOUS && DISCOVERY.test(request.path))) return;
      const rules = this.rulesOf(user);
      if (rules === 'everything') return;
      if (rules.some((rule) => has(rule.verbs, request.verb) && has(rule.nonResourceURLs, request.path)))
        return;
      throw new ApiError(
        403,
        'Forbidden',
        `forbidden: User "${user}" cannot ${request.verb} path "${request.path}"`,
        {},
      );
    }
    if (user !== ANONYMOUS && SELF_REVIEWS.has(request.resource)) return;
    if (!this.allows(user, request)) throw refusal(user, request);
  }
}

function refusal(user: string, request: ResourceRequest): ApiError {
  const { verb, group, resource, subresource, namespace, name } = request;
  const asked = subresource === '' ? resource : `${resource}/${subresource}`;
  const scope =
    namespace === '' || resource === 'namespaces'
      ? 'at the cluster scope'
      : `in the namespace "${namespace}"`;
  const named: Named = { group, plural: resource, kind: resource };
  const subject = `${named.plural}${group === '' ? '' : `.${group}`}${name === '' ? '' : ` "${name}"`}`;
  return new ApiError(
    403,
    'Forbidden',
    `${subject} is forbidden: User "${user}" cannot ${verb} resource "${asked}" in API group "${group}" ${
      resource === 'namespaces' && namespace !== '' ? `in the namespace "${namespace}"` : scope
    }`,
    { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource },
  );
}
