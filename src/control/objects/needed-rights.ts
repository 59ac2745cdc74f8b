// All rights that Isthmus needs in the Kubernetes API, which a Role must grant. `isthmus doctor` checks them, and the demo grants them to
// its user. A test compares the table with the requests of a running instance. Discovery of served versions is not listed: every
// authenticated user has this right (ClusterRole system:discovery).

interface Right {
  /**
   * `clusters`: the namespace of the OpenStackClusters (--cluster-namespace). `services`: the namespace of the published objects
   * (--namespace). `nodes`: cluster-scoped, and needed only with --node-selector.
   */
  readonly where: 'clusters' | 'services' | 'nodes';
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly why: string;
  /** For messages: the effect of a missing verb. */
  readonly without: string;
}

export interface NeededRight extends Right {
  /** null means every namespace. */
  readonly namespace: string | null;
}

export interface RightsSettings {
  readonly namespace: string | null;
  /** The namespace of the OpenStackClusters and their kubeconfigs; null means every namespace. */
  readonly clusterNamespace: string | null;
  /** The value of --node-selector; null or absent if it is not set. */
  readonly nodeSelector?: object | null;
}

const RIGHTS: readonly Right[] = [
  {
    where: 'clusters',
    group: 'infrastructure.cluster.x-k8s.io',
    resource: 'openstackclusters',
    verbs: ['list', 'watch'],
    why: 'find the clusters and their networks; never written',
    without: 'clusters are not found',
  },
  {
    where: 'clusters',
    group: '',
    resource: 'secrets',
    // RBAC has no label selectors. `list` and `watch` request only the metadata of kubeconfigs. `get` reads the content of one
    // kubeconfig before it is changed.
    verbs: ['list', 'watch', 'get', 'patch'],
    why: 'rewrite the server in a kubeconfig, and restore it',
    without: 'kubeconfigs are not rewritten to the proxy',
  },
  {
    where: 'clusters',
    group: '',
    resource: 'events',
    verbs: ['create', 'patch'],
    why: 'report changes on the OpenStackCluster or the AdditionalListener',
    without: 'Isthmus cannot report changes as Events',
  },
  {
    where: 'clusters',
    group: 'isthmus.dev',
    resource: 'additionallisteners',
    verbs: ['list', 'watch'],
    why: 'find the additional listeners',
    without: 'additional listeners are not found',
  },
  {
    where: 'clusters',
    group: 'isthmus.dev',
    resource: 'additionallisteners/status',
    verbs: ['patch'],
    why: 'report the state of each listener',
    without: 'the status of additional listeners is not updated',
  },
  {
    where: 'clusters',
    group: 'cluster.x-k8s.io',
    resource: 'machines',
    verbs: ['list', 'watch'],
    why: 'find further ways to API servers (control planes), and the machines of listeners; workers only while a listener exists',
    without: 'API servers are reached only by their own address, and additional listeners have no members',
  },
  {
    where: 'services',
    group: '',
    resource: 'services',
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    why: 'one per proxied cluster, and one per additional listener',
    without: 'clusters have no Service',
  },
  {
    where: 'services',
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    why: 'one per Service and instance, while the backend is reachable from that instance',
    without: 'no client reaches this instance',
  },
  {
    where: 'services',
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['list', 'watch', 'get', 'create', 'patch', 'delete'],
    why: 'one per instance, to show which instances are live',
    without: 'instances cannot detect each other',
  },
  {
    where: 'nodes',
    group: '',
    resource: 'nodes',
    verbs: ['list', 'watch'],
    why: "the labels of the instance's own Node",
    without: 'this instance does not know whether its Node is selected',
  },
];

export function neededRights(settings: RightsSettings): readonly NeededRight[] {
  const { namespace, clusterNamespace, nodeSelector = null } = settings;
  const places = { clusters: clusterNamespace, services: namespace, nodes: null };
  return RIGHTS.filter(({ where }) => where !== 'nodes' || nodeSelector !== null).map((right) => ({
    ...right,
    namespace: places[right.where],
  }));
}

/** The resource name as `kubectl auth can-i` writes it. */
export const shownResource = ({ group, resource }: Pick<NeededRight, 'group' | 'resource'>): string =>
  group === '' ? resource : `${resource}.${group}`;
