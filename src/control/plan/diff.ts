// The third pure function of the heart: how the objects in the API have to change so that they say what is desired. It never
// touches what is not ours, writes nothing while another process holds this node's Lease, and gives an empty list of
// actions once everything is as it should be.

import type { ListenerStatus } from '../desired/listener-status.ts';
import { type Publication, type PublicationStatus, publicationKey } from '../desired/publication.ts';
import type { Tags } from '../objects/resource-tags.ts';
import { type OwnedSlice, sliceIndex } from '../objects/slice-index.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import type { Problem } from '../sources/cluster-source.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { collectionPlan } from './collection-plan.ts';
import { listenerStatusPlan } from './listener-status-plan.ts';
import type { Action, Plan, PlanMemory } from './plan.ts';
import { planContext, publicationPlan } from './publication-plan.ts';
import type { ServiceSettings } from './service-plan.ts';

/** The same for all that have no slices. */
const NONE: readonly OwnedSlice[] = Object.freeze([]);

export interface DiffSettings extends ServiceSettings {
  readonly propagationWaitMs: number;
  readonly allowMassDelete: boolean;
  /** Of what belongs to this instance. */
  readonly tags: Tags;
}

export function diff(
  kube: KubeWorld,
  desired: {
    /** The world it was decided from was complete: what is not among the publications is gone. */
    readonly complete: boolean;
    readonly publications: readonly Publication[];
    /** Keys of what is not published, and whose Service stays all the same. */
    readonly reserved?: readonly string[];
    /** Additional listeners are completely known too. */
    readonly listenersComplete?: boolean;
    readonly listeners?: readonly ListenerStatus[];
    readonly listenerObjects?: ReadonlyMap<string, ListenerObject>;
    /** Most clusters have been missing since then: their objects have waited as long. */
    readonly vanishedSinceMs?: number | null;
  },
  settings: DiffSettings,
  memory: PlanMemory,
): Plan {
  const slices = sliceIndex(kube.slices);
  // What takes a way out that leads nowhere comes first, then what opens one, then what only tidies up.
  const withdrawals: Action[] = [];
  const openings: Action[] = [];
  const problems: Problem[] = [];
  const clusters = new Map<string, PublicationStatus>();
  const listeners = new Map<string, PublicationStatus>();
  const terminatingSince = new Map<string, number>();
  const kubeconfigWaits = new Map<string, number>();
  const released = new Set<string>();
  let lookAgainAtMs: number | null = null;
  const lookAgain = (atMs: number | null) => {
    if (atMs !== null) lookAgainAtMs = Math.min(lookAgainAtMs ?? atMs, atMs);
  };

  const context = planContext(kube, settings);
  for (const publication of desired.publications) {
    const { cluster, listener, want } = publication;
    const key = publicationKey(publication);
    const all = slices.ours.get(key) ?? NONE;
    const plan = publicationPlan(publication, all, kube, settings, memory, context);
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
  const collection = collectionPlan(kube, desired.complete, slices, claims, settings, {
    ...memory,
    breakerSinceMs: memory.breakerSinceMs ?? desired.vanishedSinceMs ?? null,
  });
  problems.push(...collection.problems);
  lookAgain(collection.lookAgainAtMs);
  const statuses = listenerStatusPlan(
    {
      listeners: desired.listeners ?? [],
      objects: desired.listenerObjects ?? new Map(),
      publications: listeners,
    },
    slices,
    kube,
    memory,
  );
  lookAgain(statuses.lookAgainAtMs);
  const mayWrite = kube.self.holder && kube.self.started;
  return {
    actions: mayWrite ? [...withdrawals, ...openings, ...collection.actions, ...statuses.actions] : [],
    clusters,
    listeners,
    problems,
    memory: {
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
