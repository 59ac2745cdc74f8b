// What this program may have to ask of the Kubernetes API: the one table that `isthmus doctor` checks and that a Role must grant.
// A test holds it against the requests of a running instance. Discovery is open to everybody who is authenticated.

export interface NeededRight {
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** null: in every namespace. */
  readonly namespace: string | null;
  /** For messages: what comes of it where a verb is missing. */
  readonly without: string;
}

export interface RightsSettings {
  readonly namespace: string;
  /** Where the OpenStackClusters and their kubeconfigs are; null: in every namespace. */
  readonly clusterNamespace: string | null;
}

export function neededRights({ namespace, clusterNamespace }: RightsSettings): readonly NeededRight[] {
  return [
    {
      group: 'infrastructure.cluster.x-k8s.io',
      resource: 'openstackclusters',
      verbs: ['list', 'watch'],
      namespace: clusterNamespace,
      without: 'clusters are not found',
    },
    {
      group: '',
      resource: 'services',
      verbs: ['list', 'watch', 'create', 'patch', 'delete'],
      namespace,
      without: 'clusters have no Service',
    },
    {
      group: 'discovery.k8s.io',
      resource: 'endpointslices',
      verbs: ['list', 'watch', 'create', 'patch', 'delete'],
      namespace,
      without: 'clients are not sent here',
    },
    {
      group: 'coordination.k8s.io',
      resource: 'leases',
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
      namespace,
      without: 'instances do not know of each other',
    },
    {
      // Listed and watched by their metadata alone; read one by one where a server has to change.
      group: '',
      resource: 'secrets',
      verbs: ['list', 'watch', 'get', 'patch'],
      namespace: clusterNamespace,
      without: 'kubeconfigs do not lead here',
    },
    {
      group: '',
      resource: 'events',
      verbs: ['create', 'patch'],
      namespace: clusterNamespace,
      without: 'kubectl describe tells nothing of it',
    },
  ];
}

/** As `kubectl auth can-i` names it. */
export const shownResource = ({ group, resource }: Pick<NeededRight, 'group' | 'resource'>): string =>
  group === '' ? resource : `${resource}.${group}`;
