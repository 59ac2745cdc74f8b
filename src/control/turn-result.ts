// The result of one turn for the main thread and the status page: the desired state, joined with what the plan found in Kubernetes. Pure.
import type { ClusterStatus } from './desired/cluster-status.ts';
import type { Desired } from './desired/desired-state.ts';
import { byText } from './objects/text-order.ts';
import type { TurnCache } from './objects/turn-cache.ts';
import type { Plan, PublicationStatus } from './plan/plan.ts';

export interface ShownCluster extends ClusterStatus {
  /** How the cluster is published in Kubernetes; absent if it is not published. */
  readonly publication?: PublicationStatus;
}

export interface TurnResult extends Desired {
  readonly clusters: readonly ShownCluster[];
}

export function turnResult(desired: Desired, plan: Plan, cache: TurnCache): TurnResult {
  return {
    complete: desired.complete,
    routes: desired.routes,
    backends: desired.backends,
    clusters: desired.clusters.map((cluster) => {
      // Two objects may have the same name. Only its holder has server names and is published.
      const publication = cluster.serverNames.length > 0 ? plan.publications.get(cluster.name) : undefined;
      // Unchanged parts give the same object: each turn compares a thousand of them by reference.
      return publication === undefined ? cluster : cache.each(shownCluster, cluster, publication);
    }),
    problems: [...desired.problems, ...plan.problems].sort(
      (a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason),
    ),
    ports: desired.ports,
    heldPorts: desired.heldPorts,
    listeners: desired.listeners,
  };
}

const shownCluster = (cluster: ClusterStatus, publication: PublicationStatus): ShownCluster =>
  Object.freeze({ ...cluster, publication });
