// The plan: all changes that bring the objects in the API to the desired state. It never changes foreign objects, plans no
// write while another process holds this node's Lease, and contains no action once the objects match. Pure.

import type { DesiredState } from '../desired/desired-state.ts';
import { earliest, mayAct } from '../instance/turn-order.ts';
import type { Tags } from '../objects/resource-tags.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { changeEvents } from './change-events.ts';
import { collectionPlan } from './collection-plan.ts';
import { listenerStatusPlan } from './listener-status-plan.ts';
import type { Plan, PlanMemory } from './plan.ts';
import { publicationPlans } from './publication-plan.ts';
import { servesAll, servesNone } from './serves-published.ts';
import type { ServiceSettings } from './service-plan.ts';

export interface DiffSettings extends ServiceSettings {
  readonly propagationWaitMs: number;
  readonly allowMassDelete: boolean;
  /** Tags for the objects of this instance. */
  readonly tags: Tags;
}

export interface DiffOptions {
  readonly settings: DiffSettings;
  /** The memory of the previous plan. */
  readonly memory: PlanMemory;
  readonly cache: TurnCache;
}

export function diff(kube: KubeWorld, desired: DesiredState, options: DiffOptions): Plan {
  const { memory } = options;
  const published = publicationPlans(desired.publications, kube, options);
  const collection = collectionPlan(kube, desired, published, options);
  const statuses = listenerStatusPlan(desired, published.statuses, kube, memory);
  const changes = changeEvents(desired, kube, memory.events);
  const mayReport = mayAct(kube.self);
  const mayWrite = mayReport && kube.synced;
  return {
    actions: mayWrite ? [...published.actions, ...collection.actions, ...statuses.actions] : [],
    events: mayReport ? changes.events : [],
    leaseReads: kube.doubtedLeases,
    publications: published.statuses,
    servesAll: servesAll(kube, desired),
    servesNone: servesNone(kube, desired),
    problems: [...published.problems, ...collection.problems, ...kube.problems],
    memory: {
      ...memory,
      ...published.memory,
      ...collection.memory,
      // A status that may not be written now must not count as written.
      ...(mayWrite && statuses.memory),
      events: changes.memory,
    },
    lookAgainAtMs: earliest(
      kube.lookAgainAtMs,
      published.lookAgainAtMs,
      collection.lookAgainAtMs,
      statuses.lookAgainAtMs,
    ),
  };
}
