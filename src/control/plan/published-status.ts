// Adds the publication status of a plan to the desired state that status, metrics and log show. Pure.
import type { ClusterStatus } from '../desired/cluster-status.ts';
import type { Desired } from '../desired/desired-state.ts';
import type { PublicationStatus } from '../desired/publication.ts';
import { byText } from '../objects/text-order.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { Plan } from './plan.ts';

export function withPublications(desired: Desired, plan: Plan, cache: TurnCache): Desired {
  const problems = [...desired.problems, ...plan.problems];
  for (const [key, { problem }] of plan.listeners)
    if (problem !== null) problems.push({ origin: `AdditionalListener ${key}`, reason: problem });
  problems.sort((a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason));
  return {
    complete: desired.complete,
    routes: desired.routes,
    backends: desired.backends,
    clusters: desired.clusters.map((cluster) => {
      // Two objects may have the same name. Only its holder has server names and is published.
      const publication = cluster.serverNames.length > 0 ? plan.clusters.get(cluster.name) : undefined;
      // Unchanged parts give the same object: each turn compares a thousand of them by reference.
      return publication === undefined ? cluster : cache.each(withPublication, cluster, publication);
    }),
    problems,
    ports: desired.ports,
    heldPorts: desired.heldPorts,
    listeners: desired.listeners,
  };
}

const withPublication = (cluster: ClusterStatus, publication: PublicationStatus): ClusterStatus =>
  Object.freeze({ ...cluster, publication });
