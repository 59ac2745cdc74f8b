// Checks every right that isthmus needs, verb by verb. The finding names each missing verb, its resource and its namespace.

import { type NeededRight, neededRights, shownResource } from '../../control/objects/needed-rights.ts';
import { isAllowed } from '../../kube/access-review.ts';
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
          right.verbs.map(async (verb) => ({
            right,
            verb,
            allowed: await isAllowed(visit.client, { ...right, verb }, { timeoutMs: REQUEST_MS }),
          })),
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
