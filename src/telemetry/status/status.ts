// Composes what /status says. Pure: everything in it is a snapshot that somebody else keeps.

import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { BackendStatus, ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import { endpointText } from '../../routing/endpoint.ts';
import type { PressureCounts } from '../metrics/pressure.ts';
import type { Traffic, TrafficSource } from '../metrics/traffic.ts';
import { type ListenerView, listenerView } from './listener-view.ts';
import { isoTime, type ProbeView, probeView } from './probe-view.ts';

export interface StatusInput {
  readonly instance: string;
  readonly version: string;
  /** In milliseconds since the epoch; with the instance it tells whose counters these are. */
  readonly startedAtMs: number;
  /** By a clock that nobody sets: the time between two answers is the difference. */
  readonly uptimeSeconds: number;
  readonly listen: string | null;
  readonly ready: boolean;
  readonly notReadyBecause: string | null;
  readonly connections: number;
  readonly pendingDials: number;
  /** What was refused, evicted or aborted because something ran out, since the start. */
  readonly pressure: PressureCounts;
  readonly traffic: TrafficSource;
  /** How we stand with the Kubernetes API; null where clusters come from files, and until the first word of it. */
  readonly kubernetes: KubernetesStatus | null;
  readonly control: {
    /** Since when the control thread does not answer, in milliseconds since the epoch; null while it does. */
    readonly stalledSinceMs: number | null;
    readonly lagMs: number;
    /** When `health` was so; null when nothing was heard yet. */
    readonly probesAtMs: number | null;
  };
  readonly clusters: readonly ClusterStatus[];
  readonly health: ReadonlyMap<string, TargetHealth>;
  readonly connectionsPerCluster: ReadonlyMap<string, number>;
  readonly listeners: readonly ListenerStatus[];
  readonly connectionsPerListener: ReadonlyMap<string, number>;
  readonly problems: readonly { readonly origin: string; readonly reason: string }[];
}

interface BackendView extends Omit<BackendStatus, 'key'> {
  readonly lastProbe: ProbeView | null;
}

export interface ClusterView extends Omit<ClusterStatus, 'backends'> {
  /** The netns and the backend in use: the first that is up, else the first. */
  readonly netns: string | null;
  readonly backend: string | null;
  readonly lastProbe: ProbeView | null;
  /** Those that are open, and what was counted of others, to its API server: additional listeners have their own. */
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
    /** Since then the control loop does not answer, and routes and states stay as they were; null while it does. */
    readonly stalledSince: string | null;
    /** How long it takes to answer, or has not answered. */
    readonly lagMs: number;
    /** The last probes below are those of this time. */
    readonly probesAt: string | null;
  };
  readonly clusters: readonly ClusterView[];
  /** Additional listeners. */
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
