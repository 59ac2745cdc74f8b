// Composes the answer of /status from snapshots that other modules keep. Pure.

import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { BackendStatus } from '../../control/desired/cluster-status.ts';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import { endpointText } from '../../routing/addresses.ts';
import type { PressureCounts } from '../metrics/pressure.ts';
import type { Traffic, TrafficSource } from '../metrics/traffic.ts';
import { type ListenerView, listenerView } from './listener-view.ts';
import { isoTime, type ProbeView, probeView } from './probe-view.ts';

export interface StatusInput {
  readonly instance: string;
  readonly version: string;
  /** Milliseconds since the epoch. Together with the instance name it identifies the process that the counters belong to. */
  readonly startedAtMs: number;
  /** From a monotonic clock: the difference of two answers is the time between them. */
  readonly uptimeSeconds: number;
  readonly listen: string | null;
  readonly ready: boolean;
  readonly notReadyBecause: string | null;
  readonly connections: number;
  readonly pendingDials: number;
  /** Clients refused, evicted or aborted since the start because a shared resource ran out. */
  readonly pressure: PressureCounts;
  readonly traffic: TrafficSource;
  /** The state of the connection to the Kubernetes API; null if clusters come from files, and until the first report. */
  readonly kubernetes: KubernetesStatus | null;
  readonly control: {
    /** When the control thread stopped answering, in milliseconds since the epoch; null while it answers. */
    readonly stalledSinceMs: number | null;
    readonly lagMs: number;
    /** The time of the snapshot `health`; null before the first one. */
    readonly probesAtMs: number | null;
  };
  readonly clusters: readonly ShownCluster[];
  readonly health: ReadonlyMap<string, TargetHealth>;
  readonly connectionsPerCluster: ReadonlyMap<string, number>;
  readonly listeners: readonly ListenerStatus[];
  readonly connectionsPerListener: ReadonlyMap<string, number>;
  readonly problems: readonly { readonly origin: string; readonly reason: string }[];
}

interface BackendView extends Omit<BackendStatus, 'key'> {
  readonly lastProbe: ProbeView | null;
}

export interface ClusterView extends Omit<ShownCluster, 'backends'> {
  /** The netns and address of the first backend that is up, else of the first backend. */
  readonly netns: string | null;
  readonly backend: string | null;
  readonly lastProbe: ProbeView | null;
  /** Open connections, and the counters of ended ones (`traffic`), to the API server. Additional listeners have their own. */
  readonly connections: number;
  readonly traffic: Traffic;
  readonly backends: readonly BackendView[];
}

export interface StatusView
  extends Omit<
    StatusInput,
    | 'startedAtMs'
    | 'traffic'
    | 'control'
    | 'clusters'
    | 'health'
    | 'connectionsPerCluster'
    | 'listeners'
    | 'connectionsPerListener'
  > {
  readonly startedAt: string;
  readonly traffic: Traffic;
  readonly control: {
    /** When the control loop stopped answering. Routes and states have not changed since then. null while it answers. */
    readonly stalledSince: string | null;
    /** How long the control loop took to answer, or how long the heartbeat has waited. */
    readonly lagMs: number;
    /** The time of the snapshot with the last probes. */
    readonly probesAt: string | null;
  };
  readonly clusters: readonly ClusterView[];
  readonly listeners: readonly ListenerView[];
}

export function statusView(input: StatusInput): StatusView {
  const { startedAtMs, traffic, control, clusters, listeners, problems, ...others } = input;
  const { health, connectionsPerCluster, connectionsPerListener, ...rest } = others;
  return {
    ...rest,
    startedAt: isoTime(startedAtMs),
    traffic: { ...traffic.total },
    control: {
      stalledSince: isoTime(control.stalledSinceMs),
      lagMs: Math.round(control.lagMs * 10) / 10,
      probesAt: isoTime(control.probesAtMs),
    },
    problems,
    clusters: clusters.map(({ backends, ...cluster }) => {
      const chosen = backends.find((backend) => backend.up) ?? backends[0] ?? null;
      const probeOf = (backend: BackendStatus) => probeView(health.get(backend.key)?.lastProbe ?? null);
      return {
        ...cluster,
        netns: chosen?.netns ?? null,
        backend: chosen === null ? null : endpointText(chosen),
        lastProbe: chosen === null ? null : probeOf(chosen),
        connections: connectionsPerCluster.get(`${cluster.namespace}/${cluster.name}`) ?? 0,
        traffic: { ...traffic.cluster(cluster.namespace, cluster.name) },
        backends: backends.map((backend) => {
          const { key: _, ...shown } = backend;
          return { ...shown, lastProbe: probeOf(backend) };
        }),
      };
    }),
    listeners: listeners.map((listener) => listenerView(listener, health, connectionsPerListener, traffic)),
  };
}
