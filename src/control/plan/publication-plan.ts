// Plans all objects of each publication: its Service, this instance's slice, and the kubeconfig of a cluster. Plans without work are
// cached, because most of a thousand clusters do not change between two turns.

import {
  kubeconfigName,
  type Publication,
  type PublicationStatus,
  publicationKey,
  serviceNameOf,
} from '../desired/publication.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { type KubeconfigPlan, kubeconfigPlan } from './kubeconfig-plan.ts';
import { unreadTagsProblem } from './object-tags.ts';
import type { Action, PlanMemory } from './plan.ts';
import { servicePlan } from './service-plan.ts';
import { type SliceSettings, slicePlan } from './slice-plan.ts';

export interface PublicationPlan {
  /** In start order. */
  readonly actions: readonly Action[];
  readonly status: PublicationStatus;
  readonly terminating: { readonly name: string; readonly sinceMs: number } | null;
  /** The kubeconfig that an earlier instance may still write, and since when; null: none. */
  readonly waiting: (NonNullable<KubeconfigPlan['waiting']> & { readonly kubeconfig: string }) | null;
  readonly lookAgainAtMs: number | null;
  /** A kubeconfig still points to the proxy: the Service must stay. */
  readonly leadsHere: boolean;
}

/** For additional listeners: a kubeconfig points to an API server only. */
const NO_KUBECONFIG: KubeconfigPlan = {
  state: 'absent',
  action: null,
  leadsHere: false,
  problem: null,
  waiting: null,
};

type Waits = Pick<PlanMemory, 'terminatingSince' | 'kubeconfigWaits'>;

interface SettledPlan {
  readonly plan: PublicationPlan;
  readonly inputs: readonly unknown[];
}

const newSettledPlans = () => new WeakMap<Publication, SettledPlan>();

export interface PublicationPlanOptions {
  /** The shared input of all publications: the same reference while it is unchanged. */
  readonly context: PlanContext;
  readonly memory: Waits;
  readonly cache: TurnCache;
}

/** One shared reference for every publication without slices: inputs are compared by reference. */
const NO_SLICES: readonly OwnedSlice[] = Object.freeze([]);

export function publicationPlan(
  publication: Publication,
  kube: KubeWorld,
  { context, memory, cache }: PublicationPlanOptions,
): PublicationPlan {
  const { cluster, namespace } = publication;
  const secret = `${namespace}/${kubeconfigName(cluster)}`;
  const slices = kube.slices.ours.get(publicationKey(publication)) ?? NO_SLICES;
  const inputs = [
    context,
    slices,
    kube.services.get(serviceNameOf(publication)),
    kube.kubeconfigs?.get(secret),
    kube.findings.get(secret),
  ];
  const settled = cache.part(newSettledPlans);
  const known = settled.get(publication);
  if (known?.inputs.every((input, i) => input === inputs[i])) return known.plan;
  const plan = newPlan(publication, secret, slices, kube, context.settings, memory);
  if (isSettled(plan)) settled.set(publication, { plan, inputs });
  return plan;
}

/** A plan that waits for nothing does not depend on the clock, so it can be cached. */
const isSettled = ({ actions, terminating, waiting, lookAgainAtMs }: PublicationPlan): boolean =>
  actions.length === 0 && terminating === null && waiting === null && lookAgainAtMs === null;

function newPlan(
  publication: Publication,
  /** The kubeconfig Secret, `<namespace>/<name>`. */
  secret: string,
  slices: readonly OwnedSlice[],
  kube: KubeWorld,
  settings: SliceSettings,
  memory: Waits,
): PublicationPlan {
  const own = slices.filter(({ instance }) => instance === kube.self.instance);
  const service = servicePlan(publication, kube, settings);
  const { terminatingSince } = memory;
  const serviceUsable = service.usable;
  const slice = slicePlan({ publication, serviceUsable, own, kube, settings, terminatingSince });
  const waits = memory.kubeconfigWaits.get(secret) ?? null;
  const kubeconfig =
    publication.listener === undefined
      ? kubeconfigPlan(publication, slices, kube, settings.namespace, waits)
      : NO_KUBECONFIG;
  return {
    actions: [service.action, ...slice.actions, kubeconfig.action].filter((action) => action !== null),
    status: Object.freeze({
      service: service.state,
      slice: slice.state,
      readyInstances: slices.filter(({ ready, instance }) => ready && kube.peers.live.has(instance)).length,
      kubeconfig: kubeconfig.state,
      problem: service.problem ?? slice.problem ?? kubeconfig.problem ?? unreadTagsProblem(publication),
    }),
    terminating: slice.terminating,
    waiting: kubeconfig.waiting && { kubeconfig: secret, ...kubeconfig.waiting },
    lookAgainAtMs: slice.lookAgainAtMs,
    leadsHere: kubeconfig.leadsHere,
  };
}

/** The inputs of every publication plan, except the cluster's own objects and the clock. */
export interface PlanContext {
  readonly settings: SliceSettings;
  readonly self: KubeWorld['self'];
  readonly mode: KubeWorld['peers']['mode'];
  readonly rank: number;
  readonly live: ReadonlySet<string>;
  readonly kubeconfigsSeen: boolean;
  readonly kubeconfigsWatched: boolean;
}

const newPreviousContext = (): { context: PlanContext | null } => ({ context: null });

/** Returns the previous context while it is unchanged. */
export function planContext(
  { self, peers, kubeconfigs, kubeconfigsWatched }: KubeWorld,
  settings: SliceSettings,
  cache: TurnCache,
): PlanContext {
  const { mode, rank, live } = peers;
  const context = {
    settings,
    self,
    mode,
    rank,
    live,
    kubeconfigsSeen: kubeconfigs !== null,
    kubeconfigsWatched,
  };
  const previous = cache.part(newPreviousContext);
  if (previous.context !== null && isSame(previous.context, context)) return previous.context;
  previous.context = context;
  return context;
}

const isSame = (a: PlanContext, b: PlanContext): boolean =>
  a.settings === b.settings &&
  a.mode === b.mode &&
  a.rank === b.rank &&
  a.kubeconfigsSeen === b.kubeconfigsSeen &&
  a.kubeconfigsWatched === b.kubeconfigsWatched &&
  a.live.size === b.live.size &&
  [...a.live].every((instance) => b.live.has(instance)) &&
  JSON.stringify(a.self) === JSON.stringify(b.self);
