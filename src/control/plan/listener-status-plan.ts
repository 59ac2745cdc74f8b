// Plans the `status` of AdditionalListeners. One instance writes it, only if it differs, and not more often than a
// minimum gap allows. Pure.
//
// | condition  | true when                                                    |
// | Accepted   | its spec is valid and in use                                 |
// | Programmed | its Service exists and is ours                               |
// | Ready      | some instance sends clients to one of its machines           |
import { isEqual } from '../../routing/changes.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import {
  conditionText,
  type ListenerState,
  type ListenerStatus,
  memberCounts,
} from '../desired/listener-status.ts';
import { listenerPublicationKey } from '../objects/listener-labels.ts';
import type { ListenerObject } from '../sources/additional-listener.ts';
import { isRecord } from '../sources/manifest-fields.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { writerTurn } from './listener-status-writer.ts';
import type { Action, Plan, PlanMemory, PublicationStatus, WrittenStatus } from './plan.ts';

export interface ListenerStatusPlan {
  readonly actions: readonly Action[];
  readonly memory: Pick<PlanMemory, 'listenerStatus' | 'listenerStatusDue'>;
  readonly lookAgainAtMs: number | null;
}

/** Minimum gap before a change that users wait for. */
const URGENT_MS = 1000;
/** Minimum gap before a change of only counts or messages, so that flapping members do not cause a write each. */
const CALM_MS = 10_000;

const MAX_MESSAGE = 1000;

interface Condition {
  readonly type: 'Accepted' | 'Programmed' | 'Ready';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export function listenerStatusPlan(
  { listeners, listenerObjects }: DesiredState,
  publications: Plan['publications'],
  kube: KubeWorld,
  before: ListenerStatusPlan['memory'],
): ListenerStatusPlan {
  const actions: Action[] = [];
  const listenerStatus = new Map<string, WrittenStatus>();
  const listenerStatusDue = new Map<string, number>();
  const memory = { listenerStatus, listenerStatusDue };
  let lookAgainAtMs: number | null = null;
  if (kube.self.draining) return { actions, memory, lookAgainAtMs };
  for (const listener of listeners) {
    const { namespace, name, cluster } = listener;
    const key = `${namespace}/${name}`;
    const object = listenerObjects.get(key);
    if (object === undefined || object.uid === null) continue;
    const written = before.listenerStatus.get(key);
    // Remembered even while another instance writes, so an instance whose slice comes and goes still respects the gap.
    if (written !== undefined) listenerStatus.set(key, written);
    const change = statusChange(listener, object, publications, kube);
    if (change === null) continue;
    const { status, waitMs } = change;
    const text = JSON.stringify(status);
    const gapMs = isUrgent(status, object.status) && written?.text !== text ? URGENT_MS : CALM_MS;
    const dueMs = before.listenerStatusDue.get(key) ?? kube.nowMs;
    listenerStatusDue.set(key, dueMs);
    const atMs = Math.max(dueMs + waitMs, written === undefined ? dueMs : written.atMs + gapMs);
    if (kube.nowMs < atMs) {
      lookAgainAtMs = Math.min(lookAgainAtMs ?? atMs, atMs);
      continue;
    }
    listenerStatus.set(key, { text, atMs: kube.nowMs });
    actions.push({
      kind: 'status',
      resource: 'additionallisteners',
      namespace,
      name,
      cluster: cluster === '' ? null : cluster,
      status,
      why: 'the status changed',
    });
  }
  return { actions, memory, lookAgainAtMs };
}

/** null: this instance has nothing to write. */
function statusChange(
  listener: ListenerStatus,
  object: ListenerObject,
  publications: Plan['publications'],
  kube: KubeWorld,
): { readonly status: Status; readonly waitMs: number } | null {
  const conditions = conditionsOf(listener, publicationOf(listener, publications));
  const turn = writerTurn(listener, conditions[2].reason, object.status, kube);
  if (turn === null) return null;
  const status = statusOf(listener, object, conditions, kube);
  return isSame(status, object.status) && !turn.claims ? null : { status, waitMs: turn.waitMs };
}

/** null: the listener has no publication. */
const publicationOf = (
  { cluster, service }: ListenerStatus,
  publications: Plan['publications'],
): PublicationStatus | null =>
  (service === null ? null : publications.get(listenerPublicationKey(cluster, service))) ?? null;

type Status = Readonly<Record<string, unknown>> & { readonly conditions: readonly object[] };

function statusOf(
  listener: ListenerStatus,
  object: ListenerObject,
  conditions: readonly Condition[],
  kube: KubeWorld,
): Status {
  const counts = memberCounts(listener.members);
  const known = Array.isArray(object.status?.conditions) ? object.status.conditions.filter(isRecord) : [];
  const now = `${new Date(kube.wallMs).toISOString().slice(0, 19)}Z`;
  const generation = object.generation === null ? {} : { observedGeneration: object.generation };
  return {
    ...generation,
    observedBy: kube.self.instance,
    ...(listener.service === null ? {} : { serviceName: listener.service }),
    members: listener.members.length,
    ready: counts.Ready,
    notReady: counts.NotReady,
    ignored: counts.Ignored,
    conditions: [
      ...conditions.map((condition) => {
        const old = known.find(({ type }) => type === condition.type);
        const since =
          old?.status === condition.status && typeof old.lastTransitionTime === 'string'
            ? old.lastTransitionTime
            : now;
        return { ...condition, ...generation, lastTransitionTime: since };
      }),
      // A merge patch replaces the whole list, so conditions of other writers are copied.
      ...known.filter(({ type }) => !conditions.some((condition) => condition.type === type)),
    ],
  };
}

const NOT_READY: Readonly<Record<ListenerState, string>> = {
  serving: 'NotPublished',
  unhealthy: 'Unhealthy',
  'no-members': 'NoMembers',
  'no-netns': 'NoNetns',
  pending: 'Pending',
  invalid: 'Invalid',
};

function conditionsOf(
  { state, reason, detail, service, nameConflict }: ListenerStatus,
  publication: PublicationStatus | null,
): readonly [Condition, Condition, Condition] {
  const shown = bounded(conditionText({ reason, detail }));
  const instances = publication?.readyInstances ?? 0;
  const served = `served by ${instances} ${instances === 1 ? 'instance' : 'instances'}; ${shown}`;
  const conflict = nameConflict === undefined ? '' : `: ${nameConflict}`;
  const missing = publication?.problem ?? `it has no Service: ${reason}`;
  const whyMissing = publication?.service === 'foreign' ? 'ServiceConflict' : 'NoService';
  return [
    state === 'invalid'
      ? condition('Accepted', 'False', 'Invalid', bounded(reason))
      : condition('Accepted', 'True', 'Accepted', 'the spec is valid'),
    publication?.service === 'ours'
      ? condition('Programmed', 'True', 'Programmed', bounded(`Service ${service}${conflict}`))
      : condition('Programmed', 'False', whyMissing, bounded(missing)),
    instances > 0
      ? condition('Ready', 'True', 'Serving', served)
      : condition('Ready', 'False', NOT_READY[state], shown),
  ];
}

const condition = (
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  message: string,
): Condition => ({ type, status, reason, message });

const bounded = (text: string): string => text.slice(0, MAX_MESSAGE);

/** Whether the status needs no write. Ignores `observedBy` and the fields of other writers, which the patch keeps. */
function isSame({ observedBy: _, ...wanted }: Status, found: ListenerObject['status']): boolean {
  return found !== null && Object.entries(wanted).every(([field, value]) => isEqual(value, found[field]));
}

function isUrgent({ conditions, observedGeneration }: Status, found: ListenerObject['status']): boolean {
  if (found === null || found.observedGeneration !== observedGeneration) return true;
  const verdicts = (list: unknown) =>
    (Array.isArray(list) ? list : []).filter(isRecord).map(({ type, status }) => [type, status]);
  return !isEqual(verdicts(conditions), verdicts(found.conditions));
}
