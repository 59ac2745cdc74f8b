// Answers the self-reviews that every user may create: own access, own rules and own identity. They are not stored.

import { isMap, type JsonMap } from '../stored-object.ts';
import type { AccessControl, AccessQuestion } from './access.ts';

export function reviewed(access: AccessControl, kind: string, user: string, body: unknown): object {
  const spec = isMap(body) && isMap(body.spec) ? body.spec : {};
  const group = kind === 'SelfSubjectReview' ? 'authentication.k8s.io/v1' : 'authorization.k8s.io/v1';
  const answer = (status: JsonMap) => ({ kind, apiVersion: group, metadata: {}, spec, status });
  if (kind === 'SelfSubjectReview')
    return answer({ userInfo: { username: user, groups: ['system:authenticated'] } });
  if (kind === 'SelfSubjectRulesReview') {
    const rules = access.rulesOf(user);
    const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    return answer({
      resourceRules: rules === 'everything' ? everything : rules,
      nonResourceRules: [],
      incomplete: false,
    });
  }
  const asked = isMap(spec.resourceAttributes) ? spec.resourceAttributes : {};
  const text = (field: string) => (typeof asked[field] === 'string' ? (asked[field] as string) : '');
  const question: AccessQuestion = {
    verb: text('verb') as AccessQuestion['verb'],
    group: text('group'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  };
  const allowed = access.allows(user, question);
  return answer(allowed ? { allowed } : { allowed, reason: '' });
}
