// What a plan says of each cluster, put into the state that status, metrics and log show. Pure.
import type { Desired } from '../desired-state.ts';
import { byText } from '../text-order.ts';
import type { Plan } from './plan.ts';

export function withPublications(desired: Desired, plan: Plan): Desired {
  const problems = [...desired.problems, ...plan.problems];
  for (const [key, { problem }] of plan.listeners)
    if (problem !== null) problems.push({ origin: `AdditionalListener ${key}`, reason: problem });
  problems.sort((a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason));
  return {
    complete: desired.complete,
    routes: desired.routes,
    backends: desired.backends,
    clusters: desired.clusters.map((cluster) => {
      // Two objects may have one name; only the one that has the right to it is published.
      const publication = cluster.serverNames.length > 0 ? plan.clusters.get(cluster.name) : undefined;
      return publication === undefined ? cluster : Object.freeze({ ...cluster, publication });
    }),
    problems,
    ports: desired.ports,
    listeners: desired.listeners,
  };
}
