// The plan: all changes that bring the objects in the API to the desired state. It never changes foreign objects, plans no
// write while another process holds this node's Lease, and contains no action once the objects match. Pure.

import type { DesiredState } from '../desired/desired-state.ts';
import { type PublicationStatus, publicationKey } from '../desired/publication.ts';
import { earliest, isFirst, mayAct } from '../instance/turn-order.ts';
import type { Tags } from '../objects/resource-tags.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { changeEvents } from './change-events.ts';
import { collectionPlan } from './collection-plan.ts';
import { listenerStatusPlan } from './listener-status-plan.ts';
import type { Action, Plan, PlanMemory } from './plan.ts';
import { planContext, publicationPlan } from './publication-plan.ts';
import type { ServiceSettings } from './service-plan.ts';

export interface DiffSettings extends ServiceSettings {
  readonly propagationWaitMs: number;
  readonly allowMassDelete: boolean;
  /** Tags for the objects of this instance. */
  readonly tags: Tags;
}

/** The part of the desired state that a plan depends on. */
export type PlannedState = Pick<DesiredState, 'complete' | 'publications'> &
  Partial<
    Pick<
      DesiredState,
      | 'reserved'
      | 'listenersComplete'
      | 'listeners'
      | 'listenerObjects'
      | 'clusters'
      | 'objects'
      | 'vanishedSinceMs'
    >
  >;

export interface DiffOptions {
  readonly settings: DiffSettings;
  /** Of the previous plan. */
  readonly memory: PlanMemory;
  readonly cache: TurnCache;
}

export function diff(kube: KubeWorld, desired: PlannedState, { settings, memory, cache }: DiffOptions): Plan {
  // Order: remove dead endpoints first, then publish new ones, then clean up.
  const withdrawals: Action[] = [];
  const openings: Action[] = [];
  const clusters = new Map<string, PublicationStatus>();
  const listeners = new Map<string, PublicationStatus>();
  const terminatingSince = new Map<string, number>();
  const kubeconfigWaits = new Map<string, number>();
  const released = new Set<string>();
  let { lookAgainAtMs } = kube;
  const lookAgain = (atMs: number | null) => {
    lookAgainAtMs = earliest(lookAgainAtMs, atMs);
  };

  const context = planContext(kube, settings, cache);
  for (const publication of desired.publications) {
    const { cluster, listener, want } = publication;
    const key = publicationKey(publication);
    const plan = publicationPlan(publication, kube, { context, memory, cache });
    for (const action of plan.actions) (action.kind === 'delete' ? withdrawals : openings).push(action);
    if (plan.terminating !== null) terminatingSince.set(plan.terminating.name, plan.terminating.sinceMs);
    if (plan.waiting !== null) {
      kubeconfigWaits.set(plan.waiting.kubeconfig, plan.waiting.sinceMs);
      if (plan.waiting.untilMs > kube.nowMs) lookAgain(plan.waiting.untilMs);
    }
    lookAgain(plan.lookAgainAtMs);
    if (want === 'leaving' && !plan.leadsHere) released.add(key);
    if (listener === undefined) clusters.set(cluster, plan.status);
    else listeners.set(listener.key, plan.status);
  }

  const published = new Set(desired.publications.map(publicationKey));
  const claims = {
    published,
    reserved: new Set(desired.reserved),
    released,
    listenersComplete: desired.listenersComplete ?? false,
  };
  const collection = collectionPlan(kube, desired.complete, claims, {
    settings,
    memory: { ...memory, breakerSinceMs: memory.breakerSinceMs ?? desired.vanishedSinceMs ?? null },
    cache,
  });
  lookAgain(collection.lookAgainAtMs);
  const statuses = listenerStatusPlan(
    {
      listeners: desired.listeners ?? [],
      objects: desired.listenerObjects ?? new Map(),
      publications: listeners,
    },
    kube,
    memory,
  );
  lookAgain(statuses.lookAgainAtMs);
  const { clusters: statusesOfClusters = [], listeners: statusesOfListeners = [] } = desired;
  const { objects = new Map(), listenerObjects = new Map() } = desired;
  const changes = changeEvents(
    { clusters: statusesOfClusters, objects, listeners: statusesOfListeners, listenerObjects },
    { isFirst: isFirst(kube.peers), instance: kube.self.instance, nowMs: kube.nowMs },
    memory.events,
  );
  const mayTell = mayAct(kube.self);
  const mayWrite = mayTell && kube.synced;
  return {
    actions: mayWrite ? [...withdrawals, ...openings, ...collection.actions, ...statuses.actions] : [],
    events: mayTell ? changes.events : [],
    leaseReads: kube.doubtedLeases,
    clusters,
    listeners,
    problems: [...collection.problems, ...kube.problems],
    memory: {
      events: changes.memory,
      ...collection.memory,
      terminatingSince,
      kubeconfigWaits,
      ...(mayWrite
        ? statuses.memory
        : { listenerStatus: memory.listenerStatus, listenerStatusDue: memory.listenerStatusDue }),
    },
    lookAgainAtMs,
  };
}
