// The metrics of clusters: how many are in each state, and what each of them serves now.
import type { ClusterState } from '../../control/desired/cluster-status.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { Metric, Sample } from './metric-registry.ts';

const STATES: readonly ClusterState[] = [
  'serving',
  'unhealthy',
  'no-netns',
  'pending',
  'not-proxied',
  'invalid',
];

export interface ClusterMetricsSources {
  readonly clusters: () => readonly ShownCluster[];
  readonly connectionsPerCluster: () => ReadonlyMap<string, number>;
}

export const clusterMetrics = ({ clusters, connectionsPerCluster }: ClusterMetricsSources): Metric[] => [
  {
    name: 'isthmus_clusters',
    type: 'gauge',
    help: 'Clusters by state',
    labelNames: ['state'],
    samples: () =>
      STATES.map((state): Sample => [clusters().filter((each) => each.state === state).length, { state }]),
  },
  {
    name: 'isthmus_cluster_serving',
    type: 'gauge',
    help: '1 for a cluster that is served, 0 for a proxied cluster that is not served',
    labelNames: ['namespace', 'cluster'],
    samples: () =>
      perCluster(
        clusters().filter(({ state }) => state !== 'not-proxied'),
        (objects) => (objects.some(({ state }) => state === 'serving') ? 1 : 0),
      ),
  },
  {
    name: 'isthmus_cluster_connections',
    type: 'gauge',
    help: 'Open connections by cluster',
    labelNames: ['namespace', 'cluster'],
    samples: () =>
      [...connectionsPerCluster()].map(([key, count]): Sample => {
        const [namespace = '', cluster = ''] = key.split('/');
        return [count, { namespace, cluster }];
      }),
  },
  {
    name: 'isthmus_backend_up',
    type: 'gauge',
    help: 'Backends of the cluster that passed their health checks; 0 if it has backends and none passed',
    labelNames: ['namespace', 'cluster'],
    samples: () =>
      perCluster(
        clusters().filter(({ backends }) => backends.length > 0),
        (objects) => objects.flatMap(({ backends }) => backends).filter(({ up }) => up).length,
      ),
  },
  {
    name: 'isthmus_cluster_certificate_not_after_seconds',
    type: 'gauge',
    help: 'End of the certificate of the API server, in seconds since the epoch; absent while it is unknown',
    labelNames: ['namespace', 'cluster'],
    samples: () =>
      perCluster(
        clusters().filter(({ certificate }) => certificate !== undefined),
        (objects) =>
          Math.min(...objects.map(({ certificate }) => Date.parse(certificate?.notAfter ?? '') / 1000)),
      ),
  },
];

/** One sample per name of a cluster. Two objects may claim one name: the cluster is served even though one object is rejected. */
function perCluster(
  clusters: readonly ShownCluster[],
  value: (objects: readonly ShownCluster[]) => number,
): Sample[] {
  const byName = Map.groupBy(clusters, ({ namespace, name }) => `${namespace}/${name}`);
  return [...byName.values()].map((objects) => {
    const [{ namespace, name: cluster }] = objects as [ShownCluster];
    return [value(objects), { namespace, cluster }];
  });
}
