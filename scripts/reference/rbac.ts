// The page of the rights in the Kubernetes API.
import { neededRights } from '../../src/control/objects/needed-rights.ts';
import { code, page, type ReferencePage, table } from './page.ts';

const PLACES = {
  clusters: '`--cluster-namespace`',
  services: '`--namespace`',
  nodes: 'the whole cluster; only with `--node-selector`',
};

export function rbac(): ReferencePage {
  const rights = neededRights({ namespace: null, clusterNamespace: null, nodeSelector: {} });
  const rows = rights.map(({ where, group, resource, verbs, why, without }) => [
    PLACES[where],
    group === '' ? 'core' : code(group),
    code(resource),
    verbs.join(', '),
    why,
    without,
  ]);
  return page({
    name: 'rbac',
    title: 'Rights in the Kubernetes API',
    sources: ['src/control/objects/needed-rights.ts'],
    blocks: [
      'The chart and the manifests grant exactly these rights. [Rights and privileges](../explanation/privileges.md) says why less is not enough.',
      table(['namespace', 'API group', 'resource', 'verbs', 'purpose', 'if it is missing'], rows),
      'Every authenticated user may also discover the served versions (ClusterRole `system:discovery`), which Isthmus does.',
    ],
  });
}
