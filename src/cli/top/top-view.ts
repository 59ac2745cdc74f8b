// What `isthmus top` shows: two answers of /status, and what happened between them. Pure. A rate is never negative, and is unknown
// (null) where the two are not of one process: its counters began anew.

import type { Traffic } from '../../telemetry/metrics/traffic.ts';
import type { ListenerView } from '../../telemetry/status/listener-view.ts';
import type { ClusterView, StatusView } from '../../telemetry/status/status.ts';

/** Per second; null while it is not known. */
export interface TopRates {
  readonly newPerSecond: number | null;
  /** Connections that ended without having reached a backend. */
  readonly unservedPerSecond: number | null;
  /** Counted when a connection ends: from clients, and to them. */
  readonly bytesInPerSecond: number | null;
  readonly bytesOutPerSecond: number | null;
}

export interface TopRow extends TopRates {
  readonly kind: 'cluster' | 'listener';
  readonly namespace: string;
  readonly name: string;
  /** Its own name, or the one of the cluster that a listener belongs to. */
  readonly cluster: string;
  readonly state: ClusterView['state'] | ListenerView['state'];
  readonly connections: number;
  readonly backendsUp: number;
  readonly backends: number;
  readonly netns: string | null;
}

export interface TopView extends TopRates {
  readonly instance: string;
  readonly version: string;
  readonly listen: string | null;
  readonly ready: boolean;
  readonly notReadyBecause: string | null;
  readonly uptimeSeconds: number;
  /** What the rates are over; null where there are none. */
  readonly overSeconds: number | null;
  readonly connections: number;
  readonly pendingDials: number;
  readonly control: Pick<StatusView['control'], 'lagMs' | 'stalledSince'>;
  readonly kubernetes:
    | (Pick<
        NonNullable<StatusView['kubernetes']>,
        'lease' | 'instances' | 'takesPart' | 'takesPartBecause' | 'staleSince'
      > & {
        /** Clusters whose clients are sent to this instance. */
        readonly published: number;
      })
    | null;
  readonly problems: StatusView['problems'];
  readonly clusters: readonly TopRow[];
  readonly listeners: readonly TopRow[];
}

interface Counted {
  readonly connections: number;
  readonly traffic: Traffic;
}

export function topView(previous: StatusView | null, status: StatusView): TopView {
  const before = previous !== null && isSameProcess(previous, status) ? previous : null;
  const seconds = before === null ? 0 : status.uptimeSeconds - before.uptimeSeconds;
  const { control, kubernetes } = status;
  const clustersBefore = byName(before?.clusters ?? []);
  const listenersBefore = byName(before?.listeners ?? []);
  return {
    instance: status.instance,
    version: status.version,
    listen: status.listen,
    ready: status.ready,
    notReadyBecause: status.notReadyBecause,
    uptimeSeconds: status.uptimeSeconds,
    overSeconds: seconds > 0 ? Math.round(seconds * 1000) / 1000 : null,
    connections: status.connections,
    pendingDials: status.pendingDials,
    ...rates(before ?? undefined, status, seconds),
    control: { lagMs: control.lagMs, stalledSince: control.stalledSince },
    kubernetes:
      kubernetes === null
        ? null
        : {
            lease: kubernetes.lease,
            instances: kubernetes.instances,
            takesPart: kubernetes.takesPart,
            takesPartBecause: kubernetes.takesPartBecause,
            staleSince: kubernetes.staleSince,
            published: status.clusters.filter(({ publication }) => publication?.slice === 'ready').length,
          },
    problems: status.problems,
    clusters: status.clusters.map((cluster) => ({
      kind: 'cluster',
      namespace: cluster.namespace,
      name: cluster.name,
      cluster: cluster.name,
      state: cluster.state,
      connections: cluster.connections,
      ...rates(clustersBefore.get(keyOf(cluster)), cluster, seconds),
      backendsUp: cluster.backends.filter(({ up }) => up).length,
      backends: cluster.backends.length,
      netns: cluster.netns,
    })),
    listeners: status.listeners.map((listener) => ({
      kind: 'listener',
      namespace: listener.namespace,
      name: listener.name,
      cluster: listener.cluster,
      state: listener.state,
      connections: listener.connections,
      ...rates(listenersBefore.get(keyOf(listener)), listener, seconds),
      backendsUp: listener.counts.ready,
      backends: listener.counts.ready + listener.counts.notReady,
      netns: (listener.members.find(({ up }) => up) ?? listener.members[0])?.netns ?? null,
    })),
  };
}

/** Processes of one node answer under one name and address: an upgrade changes only the time of the start. */
function isSameProcess(one: StatusView, other: StatusView): boolean {
  return one.instance === other.instance && one.startedAt === other.startedAt;
}

function rates(before: Counted | undefined, now: Counted, seconds: number): TopRates {
  const rate = (count: (of: Counted) => number): number | null =>
    // A cluster that went and came again within the interval is counted anew.
    before === undefined || seconds <= 0
      ? null
      : Math.round((Math.max(0, count(now) - count(before)) / seconds) * 1000) / 1000;
  return {
    // All that ever came are those that have ended and those that are open.
    newPerSecond: rate(({ connections, traffic }) => connections + traffic.ended),
    unservedPerSecond: rate(({ traffic }) => traffic.unserved),
    bytesInPerSecond: rate(({ traffic }) => traffic.bytesFromClient),
    bytesOutPerSecond: rate(({ traffic }) => traffic.bytesFromBackend),
  };
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

function byName<T extends { readonly namespace: string; readonly name: string }>(
  list: readonly T[],
): ReadonlyMap<string, T> {
  return new Map(list.map((each) => [keyOf(each), each]));
}
