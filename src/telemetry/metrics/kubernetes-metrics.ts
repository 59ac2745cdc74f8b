// The metrics of published objects and of the connection to the Kubernetes API. They do not exist with `--source file:`: a zero would
// look like a lost Lease.

import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { Problem } from '../../control/objects/problem.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { MassDeleteOrigin } from '../../control/world/mass-delete-breaker.ts';
import { type Metric, type Sample, single } from './metric-registry.ts';

export interface KubernetesMetricsSources {
  /** null until the control thread reports its first status. */
  readonly kubernetes: () => KubernetesStatus | null;
  readonly clusters: () => readonly ShownCluster[];
  readonly problems: () => readonly Problem[];
  /** Milliseconds since 1970. */
  readonly wallNow?: () => number;
}

const MASS_DELETE: MassDeleteOrigin = 'mass delete';

export function kubernetesMetrics(sources: KubernetesMetricsSources): Metric[] {
  const { kubernetes, clusters, problems, wallNow = Date.now } = sources;
  const gauge = (name: string, help: string, value: () => number) => single('gauge', name, help, value);
  return [
    {
      name: 'isthmus_kubernetes_requests_total',
      type: 'counter',
      help: 'Requests to the Kubernetes API by verb; a watch counts when it is opened',
      labelNames: ['verb'],
      samples: () =>
        Object.entries(kubernetes()?.calls ?? {}).map(([verb, count]): Sample => [count, { verb }]),
    },
    gauge('isthmus_kubernetes_lease_held', '1 while this instance holds the Lease of its node', () =>
      kubernetes()?.lease === 'held' ? 1 : 0,
    ),
    gauge(
      'isthmus_kubernetes_instances',
      'Live instances, including this one; 0 while unknown',
      () => kubernetes()?.instances ?? 0,
    ),
    gauge(
      'isthmus_kubernetes_takes_part',
      '1 while this instance takes part, so that it gets clients (--node-selector)',
      () => (kubernetes()?.takesPart ? 1 : 0),
    ),
    gauge(
      'isthmus_kubernetes_stale_seconds',
      'How long a watch of the Kubernetes API has been broken; 0 while all watches work',
      () => {
        const since = kubernetes()?.staleSince ?? null;
        return since === null ? 0 : Math.max(0, (wallNow() - Date.parse(since)) / 1000);
      },
    ),
    gauge(
      'isthmus_published_clusters',
      'Clusters with a ready slice of this instance, so that it gets their clients',
      () => clusters().filter(({ publication }) => publication?.slice === 'ready').length,
    ),
    gauge(
      'isthmus_mass_delete_stopped',
      '1 while the mass-delete breaker stops the deletion of most objects',
      () => (problems().some(({ origin }) => origin === MASS_DELETE) ? 1 : 0),
    ),
  ];
}
