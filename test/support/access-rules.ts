// The rights that an instance needs, as the chart grants them, and the same without one of them.
import type { AccessRule } from '../../src/demo/management-api/access.ts';

const NEEDED: readonly [group: string, resource: string, verbs: readonly string[]][] = [
  ['infrastructure.cluster.x-k8s.io', 'openstackclusters', ['list', 'watch']],
  ['', 'services', ['list', 'watch', 'create', 'patch', 'delete']],
  ['discovery.k8s.io', 'endpointslices', ['list', 'watch', 'create', 'patch', 'delete']],
  ['coordination.k8s.io', 'leases', ['list', 'watch', 'get', 'create', 'patch', 'delete']],
  ['', 'secrets', ['list', 'watch', 'get', 'patch']],
  ['', 'events', ['create', 'patch']],
];

/** All that we need, and nothing else. */
export const rules = (without?: { verb: string; resource: string }): AccessRule[] =>
  NEEDED.map(([group, resource, verbs]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: verbs.filter((verb) => verb !== without?.verb || resource !== without.resource),
  }));

/** What status and log say of one that is missing. */
export const forbidden = (verb: string, resource: string): RegExp =>
  new RegExp(`forbidden: cannot ${verb} .*${resource}`);
