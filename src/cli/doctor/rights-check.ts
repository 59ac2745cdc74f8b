// Checks every right that isthmus needs, verb by verb. The finding names each missing verb, its resource and its namespace.

import { type NeededRight, neededRights, shownResource } from '../../control/objects/needed-rights.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { RunConfig } from '../config/config.ts';
import { type Check, ok, problem, warning } from './check.ts';
import { type KubernetesVisit, REQUEST_MS } from './kubernetes-visit.ts';

interface Asked {
  readonly right: NeededRight;
  readonly verb: string;
  readonly allowed: boolean;
}

export function rightsCheck(
  visit: KubernetesVisit,
  settings: Pick<RunConfig, 'namespace' | 'clusterNamespace' | 'nodeSelector'>,
): Check {
  return {
    name: 'rights',
    after: ['login'],
    run: async () => {
      try {
        const questions = neededRights(settings).flatMap((right) =>
          right.verbs.map((verb) => ask(visit, right, verb)),
        );
        const answers = await Promise.all(questions);
        const missing = answers.filter(({ allowed }) => !allowed);
        if (missing.length === 0) return ok(`all ${answers.length} needed rights are granted`);
        const without = [...new Set(missing.map(({ right }) => right.without))];
        return problem(
          `${visit.who} may not ${byResource(missing).join('; ')}`,
          `Add these verbs to its Role: without them ${without.join(', ')}.`,
        );
      } catch (error) {
        if (error instanceof KubeError && error.code === 'forbidden')
          return warning(
            'the API server rejects the check of permissions',
            'Bind the ClusterRole system:basic-user to system:authenticated, as in a default cluster.',
          );
        return visit.trouble(error);
      }
    },
  };
}

async function ask({ client }: KubernetesVisit, right: NeededRight, verb: string): Promise<Asked> {
  const { group, namespace } = right;
  const [resource, subresource] = right.resource.split('/', 2);
  const answer = await client.request<{ readonly status?: { readonly allowed?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    timeoutMs: REQUEST_MS,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          group,
          resource,
          ...(subresource !== undefined && { subresource }),
          verb,
          namespace: namespace ?? '',
        },
      },
    },
  });
  return { right, verb, allowed: answer.status?.allowed === true };
}

/** `patch, delete services in magnum-system` */
function byResource(missing: readonly Asked[]): string[] {
  const verbs = new Map<NeededRight, string[]>();
  for (const { right, verb } of missing) verbs.set(right, [...(verbs.get(right) ?? []), verb]);
  return [...verbs].map(([right, list]) => {
    const what = `${list.join(', ')} ${shownResource(right)}`;
    if (right.where === 'nodes') return what;
    return `${what} ${right.namespace === null ? 'in all namespaces' : `in ${right.namespace}`}`;
  });
}
