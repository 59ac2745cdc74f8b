// Computes the view of `isthmus top` from two answers of /status: the current state and the rates between them. Pure. A rate is never
// negative. It is null (unknown) if the answers come from different processes, because the counters restart.

import type { Traffic } from '../../telemetry/metrics/traffic.ts';
import type { ListenerView } from '../../telemetry/status/listener-view.ts';
import type { ClusterView, StatusView } from '../../telemetry/status/status.ts';

/** Per second; null while the rate is not known. */
export interface TopRates {
  readonly newPerSecond: number | null;
  /** Connections that ended and reached no backend. */
  readonly unservedPerSecond: number | null;
  /** In: from clients. Out: to clients. Counted when a connection ends. */
  readonly bytesInPerSecond: number | null;
  readonly bytesOutPerSecond: number | null;
}

export interface TopRow extends TopRates {
  readonly kind: 'cluster' | 'listener';
  readonly namespace: string;
  readonly name: string;
  /** The name of the cluster; for a listener, of the cluster it belongs to. */
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
  /** The time between the two answers; null if there are no rates. */
  readonly overSeconds: number | null;
  readonly connections: number;
  readonly pendingDials: number;
  readonly control: Pick<StatusView['control'], 'lagMs' | 'stalledSince'>;
  readonly kubernetes:
    | (Pick<
        NonNullable<StatusView['kubernetes']>,
        'lease' | 'instances' | 'takesPart' | 'takesPartBecause' | 'staleSince'
      > & {
        /** Clusters with a ready slice of this instance: clients are sent here. */
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

/** After an upgrade the successor process answers with the same name and address. Only the start time differs. */
function isSameProcess(one: StatusView, other: StatusView): boolean {
  return one.instance === other.instance && one.startedAt === other.startedAt;
}

function rates(before: Counted | undefined, now: Counted, seconds: number): TopRates {
  const rate = (count: (of: Counted) => number): number | null =>
    // Never negative: the counters of a cluster restart if it is deleted and created again within the interval.
    before === undefined || seconds <= 0
      ? null
      : Math.round((Math.max(0, count(now) - count(before)) / seconds) * 1000) / 1000;
  return {
    // Open plus ended connections are all connections ever accepted.
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
