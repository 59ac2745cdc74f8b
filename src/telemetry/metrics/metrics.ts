// The metrics of one instance, in Prometheus' text format. Labels are bounded: outcomes, reasons and existing clusters, never a name
// or an address that a client chose. No label reveals a tenant's network: the health port shows the metrics to every client.

import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import type { Problem } from '../../control/objects/problem.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { ConnectionEnding } from '../../proxy/connection-record.ts';
import type { EngineStats } from '../../proxy/engine.ts';
import { type ClusterMetricsSources, clusterMetrics } from './cluster-metrics.ts';
import { DurationHistogram } from './duration-histogram.ts';
import { kubernetesMetrics } from './kubernetes-metrics.ts';
import { type ListenerMetricsSources, listenerMetrics } from './listener-metrics.ts';
import { LabelCounter, type Metric, MetricRegistry, type Sample, single } from './metric-registry.ts';
import { PairMap } from './pair-map.ts';
import { type PressureCounts, PressureTally } from './pressure.ts';
import { processMetrics } from './process-metrics.ts';
import { type ClusterTraffic, type CountedTraffic, TrafficCounts, type TrafficSource } from './traffic.ts';

export interface MetricsSources extends ClusterMetricsSources, ListenerMetricsSources {
  readonly version: string;
  readonly engineStats: () => EngineStats;
  readonly ready: () => boolean;
  /** How long the control thread took to answer the last heartbeat, or how long that has waited. */
  readonly controlLagMs: () => number;
  /** Problems that do not belong to a single cluster. */
  readonly problems: () => readonly Problem[];
  /** null if clusters come from files. The function returns null until the control thread reports its first status. */
  readonly kubernetes: (() => KubernetesStatus | null) | null;
}

/** The two ports that answer HTTP. */
export type AdminPort = 'admin' | 'health';

/** The fields of an ended connection that are counted. Thousands can end per second, so counting builds no strings. */
export type CountedEnding = Pick<ConnectionEnding, 'outcome' | 'reason' | 'durationMs'> & CountedTraffic;

export class Metrics {
  readonly registry: MetricRegistry;
  readonly #ended = new PairMap((outcome, reason) => ({ outcome, reason, count: 0 }));
  readonly #traffic = new TrafficCounts();
  readonly #pressure = new PressureTally();
  readonly #dialFailures = new LabelCounter(
    'isthmus_dial_failures_total',
    'Backends that could not be reached for a client, by error code',
    'error',
  );
  readonly #duration = new DurationHistogram({
    name: 'isthmus_connection_duration_seconds',
    help: 'Duration of connections, by outcome',
    label: 'outcome',
    buckets: [0.01, 0.1, 1, 10, 60, 600, 3600],
  });
  #routeTables = 0;
  readonly #flips = new LabelCounter(
    'isthmus_backend_health_changes_total',
    'Health verdicts that changed, by the new verdict',
    'to',
  );
  readonly #evicted = new LabelCounter(
    'isthmus_admin_connections_evicted_total',
    'Connections that the admin port or the health port closed because it was full',
    'port',
    ['admin', 'health'],
  );
  readonly #controlTurns = new DurationHistogram({
    name: 'isthmus_control_turn_seconds',
    help: 'How long turns of the control loop took, in its own thread',
    label: null,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
  });

  constructor(sources: MetricsSources) {
    const { kubernetes } = sources;
    this.registry = new MetricRegistry([
      ...processMetrics(),
      ...this.#counters(),
      ...gauges(sources),
      ...clusterMetrics(sources),
      ...listenerMetrics(sources),
      ...(kubernetes === null ? [] : kubernetesMetrics({ ...sources, kubernetes })),
    ]);
  }

  connectionEnded(ending: CountedEnding): void {
    const { outcome } = ending;
    // The reason of a policy error is the text of an exception: as a label it would be unbounded.
    const reason = outcome === 'policy-error' ? outcome : ending.reason;
    this.#ended.at(outcome, reason).count += 1;
    this.#duration.observe(ending.durationMs / 1000, outcome);
    this.#traffic.add(ending);
    this.#pressure.add(ending);
  }

  /** For /status. */
  get traffic(): TrafficSource {
    return this.#traffic;
  }

  /** For /status and `explain`. */
  get pressure(): PressureCounts {
    return this.#pressure.counts;
  }

  dialFailed(error: string): void {
    this.#dialFailures.add(error);
  }

  healthChanged(up: number, down: number): void {
    this.#flips.add('up', up);
    this.#flips.add('down', down);
  }

  adminConnectionsEvicted(port: AdminPort, count: number): void {
    this.#evicted.add(port, count);
    this.#pressure.adminConnectionsEvicted(port, count);
  }

  controlTurns(durationsMs: readonly number[]): void {
    for (const durationMs of durationsMs) this.#controlTurns.observe(durationMs / 1000);
  }

  /** Counts each published state, also one with unchanged routes. Drops the counts of clusters and listeners that no longer exist. */
  routesSwapped(clusters: readonly ShownCluster[], listeners: readonly ListenerStatus[]): void {
    this.#routeTables += 1;
    const key = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;
    this.#traffic.keep(new Set(clusters.map(key)), new Set(listeners.map(key)));
  }

  #counters(): Metric[] {
    const ended = this.#ended;
    const traffic = this.#traffic;
    return [
      {
        name: 'isthmus_connections_ended_total',
        type: 'counter',
        help: 'Ended connections, by outcome and reason',
        labelNames: ['outcome', 'reason'],
        samples: () =>
          [...ended.values()].map(({ outcome, reason, count }): Sample => [count, { outcome, reason }]),
      },
      {
        name: 'isthmus_relayed_bytes_total',
        type: 'counter',
        help: 'Bytes relayed by cluster and direction (counted when a connection ends)',
        labelNames: ['namespace', 'cluster', 'direction'],
        samples: () =>
          served(traffic).flatMap(({ namespace, cluster, direct, byListeners }): Sample[] => {
            const fromClient = direct.bytesFromClient + byListeners.bytesFromClient;
            const fromBackend = direct.bytesFromBackend + byListeners.bytesFromBackend;
            return [
              [fromClient, { namespace, cluster, direction: 'from-client' }],
              [fromBackend, { namespace, cluster, direction: 'from-backend' }],
            ];
          }),
      },
      {
        name: 'isthmus_cluster_connections_total',
        type: 'counter',
        help: 'Connections served by cluster (counted when they end)',
        labelNames: ['namespace', 'cluster'],
        samples: () =>
          served(traffic).map((each): Sample => {
            const { namespace, cluster } = each;
            return [servedCount(each), { namespace, cluster }];
          }),
      },
      this.#dialFailures.metric,
      this.#duration.metric,
      single('counter', 'isthmus_route_tables_total', 'Route tables swapped in', () => this.#routeTables),
      this.#flips.metric,
      this.#evicted.metric,
      this.#controlTurns.metric,
    ];
  }
}

function gauges({ version, ready, controlLagMs, problems, engineStats }: MetricsSources): Metric[] {
  const gauge = (name: string, help: string, value: () => number) => single('gauge', name, help, value);
  return [
    {
      name: 'isthmus_build_info',
      type: 'gauge',
      help: 'Always 1',
      labelNames: ['version'],
      samples: () => [[1, { version }]],
    },
    gauge('isthmus_ready', '1 while the instance is ready, as in /readyz', () => (ready() ? 1 : 0)),
    gauge(
      'isthmus_control_loop_lag_seconds',
      'How long the control loop took to answer the last heartbeat, or how long the heartbeat has waited',
      () => controlLagMs() / 1000,
    ),
    gauge(
      'isthmus_problems',
      'Problems in /status outside the clusters themselves: files, watches, failed writes',
      () => problems().length,
    ),
    gauge('isthmus_connections', 'Open connections', () => engineStats().connections),
    gauge('isthmus_pending_dials', 'Backends being dialled', () => engineStats().pendingDials),
    gauge('isthmus_hello_memory_bytes', 'Memory held for hellos', () => engineStats().helloMemoryBytes),
    gauge('isthmus_netns_handles', 'Open handles on network namespaces', () => engineStats().netnsHandles),
  ];
}

function servedCount({ direct, byListeners }: ClusterTraffic): number {
  return direct.ended - direct.unserved + byListeners.ended - byListeners.unserved;
}

/** A cluster without served connections has no series. */
function served(traffic: TrafficCounts): ClusterTraffic[] {
  return [...traffic.clusters()].filter((each) => servedCount(each) > 0);
}
