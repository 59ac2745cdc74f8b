// Plans the removal of orphans. Orphans are objects of deleted clusters, deleted listeners and dead instances. The plan needs a complete
// World, and deletes only objects with our owner tag and the matching name. It never deletes most of them at once. Pure.
//
// | object                                      | is deleted when                                   | breaker |
// | slice of a dead instance                    | its Lease expired, and this instance has its turn | no      |
// | Lease of a dead instance                    | the instance has no slice any more                | no      |
// | slice of magnum-cluster-api-proxy           | its timestamp expired; in turn                    | no      |
// | Service of a cluster that is not proxied    | no slice uses it; in turn                         | no      |
// | own slice of a deleted cluster or listener  | at once                                           | yes     |
// | Service of a deleted cluster or listener    | no slice uses it; in turn                         | yes     |

import type { DesiredState } from '../desired/desired-state.ts';
import { earliest, ORPHAN, turnAtMs } from '../instance/turn-order.ts';
import { listenerLabels, listenerPublicationKey } from '../objects/listener-labels.ts';
import { foreignNamespace, ownershipOf } from '../objects/ownership.ts';
import type { Problem } from '../objects/problem.ts';
import type { ServiceObject } from '../objects/published-objects.ts';
import { byText } from '../objects/text-order.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { MASS_DELETE, massDelete } from '../world/mass-delete-breaker.ts';
import type { Action, PlanMemory } from './plan.ts';
import type { PublicationPlans } from './publication-plan.ts';
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

/** Publication keys. */
interface Claims {
  /** Claimed by a cluster or a listener, proxied or not. Nothing under these keys is deleted as an orphan. */
  readonly published: PublicationPlans['statuses'];
  /** Not published, but the Service stays. */
  readonly reserved: ReadonlySet<string>;
  readonly released: PublicationPlans['released'];
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
  desired: DesiredState,
  { statuses: published, released }: PublicationPlans,
  { settings, memory, cache }: CollectionOptions,
): CollectionPlan {
  const sinceMs = memory.breakerSinceMs ?? desired.vanishedSinceMs;
  // In an incomplete World, a missing object may still exist. All waits start again later, because this time does not count.
  if (!desired.complete || !kube.complete) {
    return {
      actions: [],
      problems: [],
      memory: { collectibleSince: new Map(), breakerSinceMs: sinceMs },
      lookAgainAtMs: null,
    };
  }
  const { namespace } = settings;
  const { listenersComplete } = desired;
  const claims = { published, released, reserved: new Set(desired.reserved), listenersComplete };
  const services = claimedServices(kube, claims, settings, cache);
  const unused = (list: readonly OwnedService[]) => list.filter((service) => isUnused(service, kube));
  const unguarded = [
    ...expiredUpstreamSlices(kube, namespace),
    ...unused(services.released).map((service) => serviceRemoval(service, namespace, whyReleased(service))),
  ];
  const guarded = unused(services.orphaned).map((service) =>
    serviceRemoval(service, namespace, whyGone(service.listener)),
  );
  const turns = collectionTurns([...unguarded, ...guarded], kube, memory);
  // Orphans count even before their wait ends, so the breaker trips before the first deletion of a mass delete.
  const breaker = massDelete({
    ours: services.count,
    wouldGo: services.orphaned.length,
    sinceMs,
    nowMs: kube.nowMs,
    allow: settings.allowMassDelete,
  });
  const orphans = [...orphanedSlices(kube, claims, namespace), ...guarded.filter(turns.isDue)];
  return {
    actions: [
      ...slicesOfDeadInstances(kube, namespace),
      ...deadLeases(kube, namespace),
      ...unguarded.filter(turns.isDue),
      ...(breaker.trip ? [] : orphans),
    ],
    problems:
      breaker.trip && breaker.reason !== null ? [{ origin: MASS_DELETE, reason: breaker.reason }] : [],
    memory: { collectibleSince: turns.since, breakerSinceMs: breaker.sinceMs },
    lookAgainAtMs: turns.lookAgainAtMs,
  };
}

/** `peers.collect` contains only instances that are confirmed dead and whose objects this instance may delete now. */
function slicesOfDeadInstances({ slices, peers, self }: KubeWorld, namespace: string): Action[] {
  // A fast path for 20,000 slices.
  if (peers.collect.size === 0) return [];
  return [...slices.ours.values()]
    .flat()
    .filter(({ instance }) => instance !== self.instance && peers.collect.has(instance))
    .map((slice) => removal(slice, namespace, `instance ${slice.instance} is gone`))
    .sort(byName);
}

/** A Lease is deleted after the last slice of its instance, because the expired Lease proves that the instance is dead. */
function deadLeases({ slices, peers }: KubeWorld, namespace: string): Action[] {
  return peers.deadLeases
    .filter(({ instance }) => !slices.instances.has(instance))
    .map(({ instance, name, uid, resourceVersion }) => {
      const target = { resource: 'leases', namespace, name, cluster: null } as const;
      return { kind: 'delete', ...target, uid, resourceVersion, why: `instance ${instance} is gone` };
    });
}

function expiredUpstreamSlices({ slices, peers }: KubeWorld, namespace: string): Action[] {
  if (peers.expiredUpstream.size === 0) return [];
  return [...slices.upstream.values()]
    .flat()
    .filter(({ name }) => peers.expiredUpstream.has(name))
    .map((slice) => removal(slice, namespace, 'its timestamp has not changed for 30 s'));
}

/** The slices of this instance under a key that no cluster or listener publishes any more. */
function orphanedSlices({ slices, self }: KubeWorld, claims: Claims, namespace: string): Action[] {
  const actions: Action[] = [];
  for (const [key, list] of slices.ours) {
    if (claims.published.has(key)) continue;
    for (const slice of list) {
      if (slice.instance !== self.instance || !isKnown(slice.listener, claims)) continue;
      actions.push(removal(slice, namespace, whyGone(slice.listener)));
    }
  }
  // The order in the index depends on its history.
  return actions.sort(byName);
}

/** While some listeners may be missing from the list, a missing one may still exist. */
const isKnown = (listener: string | null, { listenersComplete }: Claims): boolean =>
  listener === null || listenersComplete;

interface ClaimedServices {
  /** Number of our Services whose cluster this instance can see. */
  readonly count: number;
  readonly released: readonly OwnedService[];
  /** Their cluster or listener is deleted. */
  readonly orphaned: readonly OwnedService[];
}

function claimedServices(
  { services }: KubeWorld,
  claims: Claims,
  { clusterNamespace = null }: CollectionSettings,
  cache: TurnCache,
): ClaimedServices {
  const { published, reserved, released } = claims;
  const found = { count: 0, released: [] as OwnedService[], orphaned: [] as OwnedService[] };
  for (const [name, service] of services) {
    const owned = cache.each(ownedService, service, name);
    // A cluster outside --cluster-namespace is invisible here, so its absence proves nothing.
    if (owned === null || foreignNamespace(service, clusterNamespace) !== null) continue;
    const { key, listener } = owned;
    found.count += 1;
    if (released.has(key)) found.released.push(owned);
    else if (!published.has(key) && !reserved.has(key) && isKnown(listener, claims))
      found.orphaned.push(owned);
  }
  return found;
}

/** True if no live instance has a slice for this Service, so no client uses it, and if its deletion has not started. */
function isUnused({ key, object }: OwnedService, { peers, self, slices }: KubeWorld): boolean {
  if (object.metadata?.deletionTimestamp !== undefined) return false;
  const ours = slices.ours.get(key) ?? [];
  const upstream = slices.upstream.get(key) ?? [];
  return (
    !ours.some(({ instance }) => instance === self.instance || peers.live.has(instance)) &&
    upstream.every(({ name }) => peers.expiredUpstream.has(name))
  );
}

function serviceRemoval({ name, cluster, object }: OwnedService, namespace: string, why: string): Action {
  const { uid = '', resourceVersion = '' } = object.metadata ?? {};
  return { kind: 'delete', resource: 'services', namespace, name, cluster, uid, resourceVersion, why };
}

/** A listener may be deleted or invalid, or its cluster may be gone. */
const whyGone = (listener: string | null): string =>
  listener === null ? 'the cluster is gone' : `AdditionalListener ${listener} is not published any more`;

const whyReleased = ({ listener }: OwnedService): string =>
  listener === null ? 'the cluster is no longer proxied' : whyGone(listener);

const byName = (a: Action, b: Action): number => byText(a.name, b.name);

interface CollectionTurns {
  readonly isDue: (action: Action) => boolean;
  /** Since when each object could be deleted. */
  readonly since: ReadonlyMap<string, number>;
  readonly lookAgainAtMs: number | null;
}

/** When this instance may perform each of these removals. All instances of its scope plan the same ones. */
function collectionTurns(
  actions: readonly Action[],
  { nowMs, peers }: KubeWorld,
  { collectibleSince }: PlanMemory,
): CollectionTurns {
  const keyOf = ({ resource, name }: Action) => `${resource}/${name}`;
  const sinceMs = (action: Action) => collectibleSince.get(keyOf(action)) ?? nowMs;
  const atMs = (action: Action) => turnAtMs(ORPHAN, peers.rank, sinceMs(action));
  const isDue = (action: Action) => nowMs >= atMs(action);
  let lookAgainAtMs: number | null = null;
  for (const action of actions) if (!isDue(action)) lookAgainAtMs = earliest(lookAgainAtMs, atMs(action));
  return { isDue, since: new Map(actions.map((action) => [keyOf(action), sinceMs(action)])), lookAgainAtMs };
}

interface OwnedService {
  readonly name: string;
  readonly cluster: string;
  readonly key: string;
  /** `<namespace>/<name>` of the AdditionalListener; null for the Service of a cluster. */
  readonly listener: string | null;
  readonly object: ServiceObject;
}

function ownedService(object: ServiceObject, name: string): OwnedService | null {
  const ownership = ownershipOf(object);
  if (ownership.kind !== 'ours') return null;
  const { cluster } = ownership;
  const labels = listenerLabels(object.metadata);
  // The owner tag alone is not enough: only a Service with the matching name may be deleted.
  if ((labels?.service ?? cluster) !== name) return null;
  const key = labels === null ? cluster : listenerPublicationKey(cluster, name);
  return { name, cluster, key, listener: labels?.listener ?? null, object };
}
