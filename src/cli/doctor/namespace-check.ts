// Checks that the namespaces exist. Isthmus itself never reads a Namespace and may lack the right to. The check then creates a Lease
// as a dry run: the API server rejects an object whose namespace does not exist.

import { resourcePath } from '../../kube/api-path.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { RunConfig } from '../config/config.ts';
import { type Check, ok, problem, skipped } from './check.ts';
import { type KubernetesVisit, REQUEST_MS } from './kubernetes-visit.ts';

type Presence = 'there' | 'missing' | 'leaving' | 'unknown';

export function namespaceCheck(
  visit: KubernetesVisit,
  { namespace, clusterNamespace }: Pick<RunConfig, 'namespace' | 'clusterNamespace'>,
): Check {
  const names = [...new Set(clusterNamespace === null ? [namespace] : [namespace, clusterNamespace])];
  return {
    name: 'namespace',
    after: ['login'],
    run: async () => {
      try {
        const found = await Promise.all(
          names.map(async (name) => ({ name, presence: await presenceOf(visit, name, name === namespace) })),
        );
        const those = (presence: Presence) =>
          found.filter((each) => each.presence === presence).map(({ name }) => name);
        const [missing, leaving, unknown] = [those('missing'), those('leaving'), those('unknown')];
        if (missing.length > 0)
          return problem(
            `there is no namespace ${missing.join(', ')}`,
            `Create it (kubectl create namespace ${missing[0]}), or correct --namespace or --cluster-namespace.`,
          );
        if (leaving.length > 0)
          return problem(
            `the namespace ${leaving.join(', ')} is being deleted`,
            'Wait until it is deleted, and create it again.',
          );
        return unknown.length > 0
          ? skipped(`no permission to check whether ${unknown.join(' and ')} exist`)
          : ok(`${names.join(' and ')} ${names.length === 1 ? 'exists' : 'exist'}`);
      } catch (error) {
        return visit.trouble(error);
      }
    },
  };
}

async function presenceOf({ client }: KubernetesVisit, name: string, isOwn: boolean): Promise<Presence> {
  try {
    const found = await client.request<{ readonly status?: { readonly phase?: string } }>({
      method: 'GET',
      path: resourcePath({ group: '', version: 'v1', resource: 'namespaces', name }),
      timeoutMs: REQUEST_MS,
    });
    return found.status?.phase === 'Terminating' ? 'leaving' : 'there';
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.code === 'not-found') return 'missing';
    // In the namespace of the clusters, isthmus may only read clusters and Secrets and write Events: no dry run is possible.
    if (error.code === 'forbidden') return isOwn ? triedPresence(client, name) : 'unknown';
    throw error;
  }
}

async function triedPresence(client: KubernetesVisit['client'], namespace: string): Promise<Presence> {
  const path = resourcePath({
    group: 'coordination.k8s.io',
    version: 'v1',
    resource: 'leases',
    namespace,
  });
  const metadata = { generateName: 'isthmus-doctor-', namespace };
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} };
  try {
    await client.request({ method: 'POST', path, query: { dryRun: 'All' }, body, timeoutMs: REQUEST_MS });
    return 'there';
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.code === 'not-found') return 'missing';
    // A 403 can also mean that the namespace is being terminated. Only its message shows that.
    return /being terminated/.test(error.message) ? 'leaving' : 'unknown';
  }
}
