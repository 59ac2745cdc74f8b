// Plans the removal of orphans: slices of dead instances, slices and Services of deleted clusters and listeners. It needs a complete
// world, deletes only objects with our owner tag and the matching name, and never most of them at once. Pure.

import { earliest, ORPHAN, turnAtMs } from '../instance/turn-order.ts';
import { listenerLabels, listenerPublicationKey } from '../objects/listener-labels.ts';
import { foreignNamespace, ownershipOf } from '../objects/ownership.ts';
import type { Problem } from '../objects/problem.ts';
import type { ServiceObject } from '../objects/published-objects.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import { byText } from '../objects/text-order.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { MASS_DELETE, massDelete } from '../world/mass-delete-breaker.ts';
import type { Action, PlanMemory } from './plan.ts';
import type { ServiceSettings } from './service-plan.ts';
import { removal } from './slice-plan.ts';

export interface CollectionSettings extends ServiceSettings {
  readonly allowMassDelete: boolean;
}

export interface CollectionPlan {
  readonly actions: readonly Action[];
  readonly problems: readonly Problem[];
  readonly memory: Pick<PlanMemory, 'collectibleSince' | 'breakerSinceMs'>;
  readonly lookAgainAtMs: number | null;
}

/** Sets of publication keys. */
export interface Claims {
  /** Claimed by a cluster or a listener, proxied or not. Nothing under these keys is collected as an orphan. */
  readonly published: ReadonlySet<string>;
  /** Not published, but the Service stays. */
  readonly reserved: ReadonlySet<string>;
  /** No longer proxied, and no kubeconfig points to the proxy: the Service is deleted. */
  readonly released: ReadonlySet<string>;
  /** All listeners are known: an absent listener is deleted. */
  readonly listenersComplete: boolean;
}

export interface CollectionOptions {
  readonly settings: CollectionSettings;
  readonly memory: PlanMemory;
  readonly cache: TurnCache;
}

export function collectionPlan(
  kube: KubeWorld,
  /** The cluster source is complete too: an absent cluster is deleted. */
  complete: boolean,
  { published, reserved, released, listenersComplete }: Claims,
  { settings, memory, cache }: CollectionOptions,
): CollectionPlan {
  // In an incomplete world absence proves nothing. Waits start again, because this time does not count.
  if (!complete || !kube.complete) {
    return {
      actions: [],
      problems: [],
      memory: { collectibleSince: new Map(), breakerSinceMs: memory.breakerSinceMs },
      lookAgainAtMs: null,
    };
  }
  const { namespace, clusterNamespace = null } = settings;
  const { nowMs, peers, slices } = kube;
  const actions: Action[] = [];
  const gone: Action[] = [];
  const since = new Map<string, number>();
  let lookAgainAtMs: number | null = null;
  const ripe = (key: string): boolean => {
    const first = memory.collectibleSince.get(key) ?? nowMs;
    since.set(key, first);
    const atMs = turnAtMs(ORPHAN, peers.rank, first);
    if (nowMs >= atMs) return true;
    lookAgainAtMs = earliest(lookAgainAtMs, atMs);
    return false;
  };

  for (const [key, list] of slices.ours) {
    // A fast path for 20,000 slices: claimed ones need no check while no instance is dead.
    if (peers.collect.size === 0 && published.has(key)) continue;
    for (const slice of list) {
      if (slice.instance === kube.self.instance) {
        const isKnown = slice.listener === null || listenersComplete;
        if (!published.has(slice.key) && isKnown)
          gone.push(removal(slice, namespace, `${ownerWord(slice.listener)} is gone`));
      } else if (peers.collect.has(slice.instance)) {
        // `peers.collect` contains only confirmed dead instances whose collection is our turn.
        actions.push(removal(slice, namespace, `instance ${slice.instance} is gone`));
      }
    }
  }
  // The order in the index depends on its history.
  actions.sort(byName);
  gone.sort(byName);
  for (const { instance, name, uid, resourceVersion } of peers.deadLeases) {
    if (slices.instances.has(instance)) continue;
    const target = { resource: 'leases', namespace, name, cluster: null } as const;
    actions.push({ kind: 'delete', ...target, uid, resourceVersion, why: `instance ${instance} is gone` });
  }
  for (const list of slices.upstream.values()) {
    for (const { name, cluster, node, object } of list) {
      if (!peers.expiredUpstream.has(name) || !ripe(`endpointslices/${name}`)) continue;
      const what = { name, cluster, listener: null, key: cluster };
      const slice: OwnedSlice = { ...what, instance: node, ready: false, object };
      actions.push(removal(slice, namespace, 'its time stamp has not changed for 30 s'));
    }
  }

  let services = 0;
  let orphans = 0;
  for (const [name, service] of kube.services) {
    const owned = cache.each(ownedService, service, name);
    // A cluster outside --cluster-namespace is invisible here, so its absence proves nothing.
    if (owned === null || foreignNamespace(service, clusterNamespace) !== null) continue;
    const { cluster, key, marks } = owned;
    services += 1;
    const isGone = !published.has(key) && !reserved.has(key) && (marks === null || listenersComplete);
    // Counted before its wait ends: the breaker must trip before the first deletion of a mass delete.
    if (isGone) orphans += 1;
    const free = released.has(key) || isGone;
    if (!free || isReferred(key, kube) || !ripe(`services/${name}`)) continue;
    const { uid = '', resourceVersion = '', deletionTimestamp } = service.metadata ?? {};
    if (deletionTimestamp !== undefined) continue;
    const owner = ownerWord(marks?.listener ?? null);
    const why = released.has(key) && marks === null ? 'the cluster is no longer proxied' : `${owner} is gone`;
    const target = { resource: 'services', namespace, name, cluster } as const;
    (released.has(key) ? actions : gone).push({ kind: 'delete', ...target, uid, resourceVersion, why });
  }

  const breaker = massDelete({
    ours: services,
    wouldGo: orphans,
    sinceMs: memory.breakerSinceMs,
    nowMs,
    allow: settings.allowMassDelete,
  });
  const problems =
    breaker.trip && breaker.reason !== null ? [{ origin: MASS_DELETE, reason: breaker.reason }] : [];
  if (!breaker.trip) actions.push(...gone);
  return {
    actions,
    problems,
    memory: { collectibleSince: since, breakerSinceMs: breaker.sinceMs },
    lookAgainAtMs,
  };
}

const byName = (a: Action, b: Action): number => byText(a.name, b.name);

const ownerWord = (listener: string | null): string =>
  listener === null ? 'the cluster' : `AdditionalListener ${listener}`;

/** Whether a slice of a live instance belongs to it: clients still connect through the Service then. */
function isReferred(key: string, { peers, self, slices }: KubeWorld): boolean {
  return (
    (slices.ours.get(key) ?? []).some(
      ({ instance }) => instance === self.instance || peers.live.has(instance),
    ) || (slices.upstream.get(key) ?? []).some(({ name }) => !peers.expiredUpstream.has(name))
  );
}

interface OwnedService {
  readonly name: string;
  readonly cluster: string;
  readonly key: string;
  readonly marks: ReturnType<typeof listenerLabels>;
}

function ownedService(service: ServiceObject, name: string): OwnedService | null {
  const ownership = ownershipOf(service);
  if (ownership.kind !== 'ours') return null;
  const { cluster } = ownership;
  const marks = listenerLabels(service.metadata);
  // The owner tag alone is not enough: only a Service with the matching name may be deleted.
  if ((marks?.service ?? cluster) !== name) return null;
  return { name, cluster, key: marks === null ? cluster : listenerPublicationKey(cluster, name), marks };
}
