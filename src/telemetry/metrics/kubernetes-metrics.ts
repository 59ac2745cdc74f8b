// The metrics of published objects and of the connection to the Kubernetes API. They do not exist with `--source file:`: a zero would
// look like a lost Lease.

import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { Problem } from '../../control/objects/problem.ts';
import type { MassDeleteOrigin } from '../../control/world/mass-delete-breaker.ts';
import { Counter, Gauge, type Registry } from './prometheus.ts';

export interface KubernetesMetricsSources {
  /** null until the control thread reports its first status. */
  readonly kubernetes: () => KubernetesStatus | null;
  readonly clusters: () => readonly ShownCluster[];
  readonly problems: () => readonly Problem[];
  /** Milliseconds since 1970. */
  readonly wallNow?: () => number;
}

const MASS_DELETE: MassDeleteOrigin = 'mass delete';

export function addKubernetesMetrics(registry: Registry, sources: KubernetesMetricsSources): void {
  const registers = [registry];
  const { kubernetes, clusters, problems, wallNow = Date.now } = sources;
  new Counter({
    name: 'isthmus_kubernetes_requests_total',
    help: 'Requests to the Kubernetes API by verb; a watch counts when it is opened',
    labelNames: ['verb'],
    registers,
    collect() {
      this.reset();
      for (const [verb, count] of Object.entries(kubernetes()?.calls ?? {})) this.inc({ verb }, count);
    },
  });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge('isthmus_kubernetes_lease_held', '1 while this instance holds the Lease of its node', () =>
    kubernetes()?.lease === 'held' ? 1 : 0,
  );
  gauge(
    'isthmus_kubernetes_instances',
    'Instances that live, this one included; 0 while that is not known',
    () => kubernetes()?.instances ?? 0,
  );
  gauge(
    'isthmus_kubernetes_takes_part',
    '1 while this instance is one that clients are sent to (--node-selector)',
    () => (kubernetes()?.takesPart ? 1 : 0),
  );
  gauge(
    'isthmus_kubernetes_stale_seconds',
    'For how long something of the Kubernetes API could not be watched; 0 while all of it is',
    () => {
      const since = kubernetes()?.staleSince ?? null;
      return since === null ? 0 : Math.max(0, (wallNow() - Date.parse(since)) / 1000);
    },
  );
  gauge(
    'isthmus_published_clusters',
    'Clusters for which clients are sent to this instance: those with a ready slice of its own',
    () => clusters().filter(({ publication }) => publication?.slice === 'ready').length,
  );
  gauge(
    'isthmus_mass_delete_stopped',
    '1 while most of what is kept would be deleted at once, and therefore is not',
    () => (problems().some(({ origin }) => origin === MASS_DELETE) ? 1 : 0),
  );
}
