// What nobody keeps any more: slices of instances that died, slices and Services of clusters that are gone. Only on the word
// of a complete world, only what carries our owner tag and the name that goes with it, and never most of it at once. Pure.
import type { ServiceObject } from '../objects/cluster-shape.ts';
import { listenerMarks, listenerPublicationKey } from '../objects/listener-marks.ts';
import { foreignNamespace, ownershipOf } from '../objects/ownership.ts';
import type { OwnedSlice, SliceIndex } from '../objects/slice-index.ts';
import type { Problem } from '../sources/cluster-source.ts';
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

/** What every instance could do, the first one does; each of the others leaves those before it this much more time. */
const TURN_MS = 3000;
/** The first one too waits for what may just be under way elsewhere. */
const SETTLE_MS = 1000;

/** By key of a publication. */
export interface Claims {
  /** That a cluster or a listener claims, proxied or not: nothing of theirs is collected here. */
  readonly published: ReadonlySet<string>;
  /** Of which only the Service stays. */
  readonly reserved: ReadonlySet<string>;
  /** Whose Service goes in order: no longer proxied, and no kubeconfig leads here any more. */
  readonly released: ReadonlySet<string>;
  /** An absent listener is a gone one. */
  readonly listenersComplete: boolean;
}

export function collectionPlan(
  kube: KubeWorld,
  /** The source of clusters is complete too: an absent cluster is a gone one. */
  complete: boolean,
  slices: SliceIndex,
  { published, reserved, released, listenersComplete }: Claims,
  settings: CollectionSettings,
  memory: PlanMemory,
): CollectionPlan {
  // Absence proves nothing now, and neither does the time that passes meanwhile.
  if (!complete || !kube.complete) {
    return {
      actions: [],
      problems: [],
      memory: { collectibleSince: new Map(), breakerSinceMs: memory.breakerSinceMs },
      lookAgainAtMs: null,
    };
  }
  const { namespace, clusterNamespace = null } = settings;
  const { nowMs, peers } = kube;
  const actions: Action[] = [];
  const gone: Action[] = [];
  const since = new Map<string, number>();
  let lookAgainAtMs: number | null = null;
  const ripe = (key: string, rank: number): boolean => {
    const first = memory.collectibleSince.get(key) ?? nowMs;
    since.set(key, first);
    const atMs = first + SETTLE_MS + rank * TURN_MS;
    if (nowMs >= atMs) return true;
    lookAgainAtMs = Math.min(lookAgainAtMs ?? atMs, atMs);
    return false;
  };

  for (const [key, list] of slices.ours) {
    // Of twenty thousand, none has to be looked at while nobody is dead.
    if (peers.collect.size === 0 && published.has(key)) continue;
    for (const slice of list) {
      if (slice.instance === kube.self.instance) {
        const isKnown = slice.listener === null || listenersComplete;
        if (!published.has(slice.key) && isKnown)
          gone.push(removal(slice, namespace, `${ownerWord(slice.listener)} is gone`));
      } else if (peers.collect.has(slice.instance)) {
        // Its turn and its certainty are judged with the Leases.
        actions.push(removal(slice, namespace, `instance ${slice.instance} is gone`));
      }
    }
  }
  for (const { instance, name, uid, resourceVersion } of peers.deadLeases) {
    if (slices.instances.has(instance)) continue;
    const target = { resource: 'leases', namespace, name, cluster: null } as const;
    actions.push({ kind: 'delete', ...target, uid, resourceVersion, why: `instance ${instance} is gone` });
  }
  for (const list of slices.upstream.values()) {
    for (const { name, cluster, node, object } of list) {
      if (!peers.expiredUpstream.has(name) || !ripe(`endpointslices/${name}`, peers.rank)) continue;
      const what = { name, cluster, listener: null, key: cluster };
      const slice: OwnedSlice = { ...what, instance: node, ready: false, object };
      actions.push(removal(slice, namespace, 'its time stamp has not changed for 30 s'));
    }
  }

  let services = 0;
  let orphans = 0;
  for (const [name, service] of kube.services) {
    const owned = ownedService(name, service);
    // Of a cluster that we do not look for: that we do not see it proves nothing.
    if (owned === null || foreignNamespace(service, clusterNamespace) !== null) continue;
    const { cluster, key, marks } = owned;
    services += 1;
    const isGone = !published.has(key) && !reserved.has(key) && (marks === null || listenersComplete);
    // Counted before its time has come: what must not go together must not begin to go either.
    if (isGone) orphans += 1;
    const free = released.has(key) || isGone;
    if (!free || isReferred(key, kube, slices) || !ripe(`services/${name}`, peers.rank)) continue;
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

const ownerWord = (listener: string | null): string =>
  listener === null ? 'the cluster' : `AdditionalListener ${listener}`;

/** By a slice of somebody who lives: then clients are still sent through it. */
function isReferred(key: string, { peers, self }: KubeWorld, slices: SliceIndex): boolean {
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
  readonly marks: ReturnType<typeof listenerMarks>;
}

/** An object that did not change is the same object: it is judged once, and not once a turn. */
const judged = new WeakMap<ServiceObject, OwnedService | null>();

function ownedService(name: string, service: ServiceObject): OwnedService | null {
  let owned = judged.get(service);
  if (owned === undefined || (owned !== null && owned.name !== name)) {
    owned = judgedService(name, service);
    judged.set(service, owned);
  }
  return owned;
}

function judgedService(name: string, service: ServiceObject): OwnedService | null {
  const ownership = ownershipOf(service);
  if (ownership.kind !== 'ours') return null;
  const { cluster } = ownership;
  const marks = listenerMarks(service.metadata);
  // The tag alone proves nothing: only what has the name that goes with it is ours to delete.
  if ((marks?.service ?? cluster) !== name) return null;
  return { name, cluster, key: marks === null ? cluster : listenerPublicationKey(cluster, name), marks };
}
