// Plans all objects of each publication: its Service, this instance's slice, and the kubeconfig of a cluster. Plans without work are
// cached, because most of a thousand clusters do not change between two turns.

import { isEqual } from '../../routing/changes.ts';
import { kubeconfigName, type Publication, publicationKey, serviceNameOf } from '../desired/publication.ts';
import { earliest } from '../instance/turn-order.ts';
import type { Problem } from '../objects/problem.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { TurnCache } from '../objects/turn-cache.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { type KubeconfigPlan, kubeconfigPlan } from './kubeconfig-plan.ts';
import { unreadTagsProblem } from './object-tags.ts';
import type { Action, PlanMemory, PublicationStatus } from './plan.ts';
import { servicePlan } from './service-plan.ts';
import { type SlicePlan, type SliceSettings, slicePlan } from './slice-plan.ts';

/** The plans of all publications, joined. */
export interface PublicationPlans {
  /** In the order in which they start: removals of dead endpoints come first. */
  readonly actions: readonly Action[];
  /** By publication key. */
  readonly statuses: ReadonlyMap<string, PublicationStatus>;
  /** Keys of publications that are no longer proxied and to which no kubeconfig points. Their Services may be deleted. */
  readonly released: ReadonlySet<string>;
  readonly problems: readonly Problem[];
  readonly memory: Waits;
  readonly lookAgainAtMs: number | null;
}

interface PublicationPlan {
  /** In the order in which they start. */
  readonly actions: readonly Action[];
  readonly status: PublicationStatus;
  readonly terminating: SlicePlan['terminating'];
  /** The kubeconfig that an instance of a lower rank may still write, and since when; null: none. */
  readonly waiting: { readonly kubeconfig: string; readonly sinceMs: number } | null;
  readonly lookAgainAtMs: number | null;
  readonly isReleased: boolean;
}

/** For additional listeners, which have no kubeconfig. */
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
  readonly settings: SliceSettings;
  readonly memory: Waits;
  readonly cache: TurnCache;
}

export function publicationPlans(
  publications: readonly Publication[],
  kube: KubeWorld,
  { settings, memory, cache }: PublicationPlanOptions,
): PublicationPlans {
  const context = planContext(kube, settings, cache);
  const withdrawals: Action[] = [];
  const openings: Action[] = [];
  const statuses = new Map<string, PublicationStatus>();
  const released = new Set<string>();
  const problems: Problem[] = [];
  const terminatingSince = new Map<string, number>();
  const kubeconfigWaits = new Map<string, number>();
  let lookAgainAtMs: number | null = null;
  for (const publication of publications) {
    const key = publicationKey(publication);
    const plan = publicationPlan(publication, kube, { context, memory, cache });
    const { status, terminating, waiting } = plan;
    for (const action of plan.actions) (action.kind === 'delete' ? withdrawals : openings).push(action);
    statuses.set(key, status);
    if (plan.isReleased) released.add(key);
    // The status of a cluster shows its problem. The status of a listener has no such field.
    if (publication.listener !== undefined && status.problem !== null)
      problems.push({ origin: `AdditionalListener ${publication.listener.key}`, reason: status.problem });
    if (terminating !== null) terminatingSince.set(terminating.name, terminating.sinceMs);
    if (waiting !== null) kubeconfigWaits.set(waiting.kubeconfig, waiting.sinceMs);
    lookAgainAtMs = earliest(lookAgainAtMs, plan.lookAgainAtMs);
  }
  return {
    actions: [...withdrawals, ...openings],
    statuses,
    released,
    problems,
    memory: { terminatingSince, kubeconfigWaits },
    lookAgainAtMs,
  };
}

/** The same empty list for every publication without slices, because inputs are compared by reference. */
const NO_SLICES: readonly OwnedSlice[] = Object.freeze([]);

interface PlanOptions extends Omit<PublicationPlanOptions, 'settings'> {
  /** The shared input of all publications: the same reference while it is unchanged. */
  readonly context: PlanContext;
}

function publicationPlan(
  publication: Publication,
  kube: KubeWorld,
  { context, memory, cache }: PlanOptions,
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
  const { settings } = context;
  const plan = newPlan({ publication, secret, slices, kube, settings, memory });
  if (isSettled(plan)) settled.set(publication, { plan, inputs });
  return plan;
}

/** A plan that waits for nothing does not depend on the clock, so it can be cached. */
const isSettled = ({ actions, terminating, waiting, lookAgainAtMs }: PublicationPlan): boolean =>
  actions.length === 0 && terminating === null && waiting === null && lookAgainAtMs === null;

interface PlanQuestion {
  readonly publication: Publication;
  /** The kubeconfig Secret, `<namespace>/<name>`. */
  readonly secret: string;
  readonly slices: readonly OwnedSlice[];
  readonly kube: KubeWorld;
  readonly settings: SliceSettings;
  readonly memory: Waits;
}

function newPlan({ publication, secret, slices, kube, settings, memory }: PlanQuestion): PublicationPlan {
  const own = slices.filter(({ instance }) => instance === kube.self.instance);
  const service = servicePlan(publication, kube, settings);
  const { terminatingSince } = memory;
  const serviceUsable = service.usable;
  const slice = slicePlan({ publication, serviceUsable, own, kube, settings, terminatingSince });
  const waitsSinceMs = memory.kubeconfigWaits.get(secret) ?? null;
  const { namespace } = settings;
  const kubeconfig =
    publication.listener === undefined
      ? kubeconfigPlan({ publication, slices, kube, namespace, waitsSinceMs })
      : NO_KUBECONFIG;
  const { waiting } = kubeconfig;
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
    waiting: waiting && { kubeconfig: secret, sinceMs: waiting.sinceMs },
    lookAgainAtMs: earliest(
      slice.lookAgainAtMs,
      waiting !== null && waiting.untilMs > kube.nowMs ? waiting.untilMs : null,
    ),
    isReleased: publication.want === 'leaving' && !kubeconfig.leadsHere,
  };
}

/** The inputs of every publication plan, except the cluster's own objects and the clock. */
interface PlanContext {
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
function planContext(
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
  if (!isEqual(previous.context, context)) previous.context = context;
  return previous.context ?? context;
}
