// The rights that `isthmus run` needs in a management cluster, in one table, each with what it is for. The demo's own user has
// exactly these; whoever writes Roles for a site makes them from here.
import type { AccessRule } from './management-api/access.ts';

export interface NeededRight {
  /** `clusters`: where the OpenStackClusters are (--cluster-namespace). `services`: where we publish (--namespace). */
  readonly where: 'clusters' | 'services';
  /** Empty: the core group. */
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly why: string;
}

/** Which versions are served is asked too; every authenticated user may (ClusterRole system:discovery). */
export const NEEDED_ACCESS: readonly NeededRight[] = [
  {
    where: 'clusters',
    group: 'infrastructure.cluster.x-k8s.io',
    resource: 'openstackclusters',
    verbs: ['list', 'watch'],
    why: 'which clusters there are, and on which networks; never written',
  },
  {
    where: 'clusters',
    group: '',
    resource: 'secrets',
    // RBAC knows no labels: list and watch ask for the metadata of kubeconfigs only, and the content of one is read to change it.
    verbs: ['list', 'watch', 'get', 'patch'],
    why: 'the server in a kubeconfig is rewritten, and given back',
  },
  {
    where: 'clusters',
    group: '',
    resource: 'events',
    verbs: ['create', 'patch'],
    why: 'what happened to a cluster is told on its OpenStackCluster',
  },
  {
    where: 'services',
    group: '',
    resource: 'services',
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    why: 'one per proxied cluster',
  },
  {
    where: 'services',
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    why: 'one per proxied cluster and instance, while it is reachable from there',
  },
  {
    where: 'services',
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['list', 'watch', 'get', 'create', 'patch', 'delete'],
    why: 'one per instance: who lives',
  },
];

/** As rules of Roles, one namespace each; null: in all namespaces. */
export function neededRules(namespaces: Record<NeededRight['where'], string | null>): AccessRule[] {
  return NEEDED_ACCESS.map(({ where, group, resource, verbs }) => {
    const namespace = namespaces[where];
    return { apiGroups: [group], resources: [resource], verbs, ...(namespace !== null && { namespace }) };
  });
}
