// The metrics of one instance, in Prometheus' text format. Labels are bounded: outcomes, reasons and existing clusters, never a name
// or an address that a client chose. No label reveals a tenant's network: the health port shows the metrics to every client.

import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { ClusterState, ClusterStatus } from '../../control/desired/cluster-status.ts';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import type { Problem } from '../../control/objects/problem.ts';
import type { ConnectionEnding } from '../../proxy/connection-record.ts';
import type { EngineStats } from '../../proxy/engine.ts';
import { DurationHistogram } from './duration-histogram.ts';
import { addKubernetesMetrics } from './kubernetes-metrics.ts';
import { addListenerMetrics, type ListenerMetricsSources } from './listener-metrics.ts';
import { PairMap } from './pair-map.ts';
import { type PressureCounts, PressureTally } from './pressure.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { Counter, Gauge, Histogram, Registry } from './prometheus.ts';
import { type ClusterTraffic, type CountedTraffic, TrafficCounts, type TrafficSource } from './traffic.ts';

const STATES: readonly ClusterState[] = [
  'serving',
  'unhealthy',
  'no-netns',
  'pending',
  'not-proxied',
  'invalid',
];

export interface MetricsSources extends ListenerMetricsSources {
  readonly version: string;
  readonly engineStats: () => EngineStats;
  readonly clusters: () => readonly ClusterStatus[];
  readonly connectionsPerCluster: () => ReadonlyMap<string, number>;
  readonly ready: () => boolean;
  /** How long the control thread took to answer the last heartbeat, or has not answered it. */
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
  readonly registry = new Registry();
  readonly #ended = new PairMap((outcome, reason) => ({ outcome, reason, count: 0 }));
  readonly #traffic = new TrafficCounts();
  readonly #pressure = new PressureTally();
  readonly #dialFailures: Counter<'error'>;
  readonly #duration: DurationHistogram;
  readonly #turns: Counter<string>;
  readonly #flips: Counter<'to'>;
  readonly #evicted: Counter<'port'>;
  readonly #controlTurns: Histogram<string>;

  constructor(sources: MetricsSources) {
    const registers = [this.registry];
    addProcessMetrics(this.registry);
    // Counted in plain numbers and copied to prom-client at a scrape: its own counters cost more than all other work for a
    // connection on this thread.
    const ended = this.#ended;
    new Counter({
      name: 'isthmus_connections_ended_total',
      help: 'Connections that ended, by how and why',
      labelNames: ['outcome', 'reason'],
      registers,
      collect() {
        this.reset();
        for (const { outcome, reason, count } of ended.values()) this.inc({ outcome, reason }, count);
      },
    });
    const traffic = this.#traffic;
    new Counter({
      name: 'isthmus_relayed_bytes_total',
      help: 'Bytes relayed by cluster and direction (counted when a connection ends)',
      labelNames: ['namespace', 'cluster', 'direction'],
      registers,
      collect() {
        this.reset();
        for (const { namespace, cluster, direct, byListeners } of served(traffic)) {
          const fromClient = direct.bytesFromClient + byListeners.bytesFromClient;
          const fromBackend = direct.bytesFromBackend + byListeners.bytesFromBackend;
          this.inc({ namespace, cluster, direction: 'from-client' }, fromClient);
          this.inc({ namespace, cluster, direction: 'from-backend' }, fromBackend);
        }
      },
    });
    new Counter({
      name: 'isthmus_cluster_connections_total',
      help: 'Connections served by cluster (counted when they end)',
      labelNames: ['namespace', 'cluster'],
      registers,
      collect() {
        this.reset();
        for (const each of served(traffic)) {
          this.inc({ namespace: each.namespace, cluster: each.cluster }, servedCount(each));
        }
      },
    });
    this.#dialFailures = new Counter({
      name: 'isthmus_dial_failures_total',
      help: 'Backends that could not be reached for a client, by error code',
      labelNames: ['error'],
      registers,
    });
    this.#duration = new DurationHistogram(
      {
        name: 'isthmus_connection_duration_seconds',
        help: 'How long connections lasted, by how they ended',
        label: 'outcome',
        buckets: [0.01, 0.1, 1, 10, 60, 600, 3600],
      },
      this.registry,
    );
    this.#turns = new Counter({
      name: 'isthmus_route_tables_total',
      help: 'Route tables swapped in',
      registers,
    });
    this.#flips = new Counter({
      name: 'isthmus_backend_health_changes_total',
      help: 'Health verdicts that changed, by the new verdict',
      labelNames: ['to'],
      registers,
    });
    this.#evicted = new Counter({
      name: 'isthmus_admin_connections_evicted_total',
      help: 'Connections that the admin port or the health port closed because it was full',
      labelNames: ['port'],
      registers,
    });
    for (const port of ['admin', 'health']) this.#evicted.inc({ port }, 0);
    this.#controlTurns = new Histogram({
      name: 'isthmus_control_turn_seconds',
      help: 'How long turns of the control loop took, in its own thread',
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
      registers,
    });
    this.#gauges(sources);
    addListenerMetrics(this.registry, sources);
    const { kubernetes } = sources;
    if (kubernetes !== null) addKubernetesMetrics(this.registry, { ...sources, kubernetes });
  }

  connectionEnded(ending: CountedEnding): void {
    const { outcome } = ending;
    // The reason of a policy error is the text of an exception: as a label it would be unbounded.
    const reason = outcome === 'policy-error' ? outcome : ending.reason;
    this.#ended.at(outcome, reason).count += 1;
    this.#duration.observe(outcome, ending.durationMs / 1000);
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
    this.#dialFailures.inc({ error });
  }

  healthChanged(up: number, down: number): void {
    this.#flips.inc({ to: 'up' }, up);
    this.#flips.inc({ to: 'down' }, down);
  }

  adminConnectionsEvicted(port: AdminPort, count: number): void {
    this.#evicted.inc({ port }, count);
  }

  controlTurns(durationsMs: readonly number[]): void {
    for (const durationMs of durationsMs) this.#controlTurns.observe(durationMs / 1000);
  }

  /** Counts a new route table and drops the counts of clusters and listeners that no longer exist. */
  routesSwapped(clusters: readonly ClusterStatus[], listeners: readonly ListenerStatus[]): void {
    this.#turns.inc();
    const key = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`;
    this.#traffic.keep(new Set(clusters.map(key)), new Set(listeners.map(key)));
  }

  #gauges(sources: MetricsSources): void {
    const registers = [this.registry];
    const gauge = (name: string, help: string, value: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    new Gauge({ name: 'isthmus_build_info', help: 'Always 1', labelNames: ['version'], registers }).set(
      { version: sources.version },
      1,
    );
    gauge('isthmus_ready', '1 while new connections are served', () => (sources.ready() ? 1 : 0));
    gauge(
      'isthmus_control_loop_lag_seconds',
      'How long the control loop takes to answer, or has not answered',
      () => sources.controlLagMs() / 1000,
    );
    gauge(
      'isthmus_problems',
      'What /status lists as wrong beside the clusters themselves: files, watches, writes that failed',
      () => sources.problems().length,
    );
    gauge('isthmus_connections', 'Open connections', () => sources.engineStats().connections);
    gauge('isthmus_pending_dials', 'Backends being dialled', () => sources.engineStats().pendingDials);
    gauge(
      'isthmus_hello_memory_bytes',
      'Memory held for hellos',
      () => sources.engineStats().helloMemoryBytes,
    );
    gauge(
      'isthmus_netns_handles',
      'Open handles on network namespaces',
      () => sources.engineStats().netnsHandles,
    );
    new Gauge({
      name: 'isthmus_clusters',
      help: 'Clusters by state',
      labelNames: ['state'],
      registers,
      collect() {
        for (const state of STATES) {
          this.set({ state }, sources.clusters().filter((cluster) => cluster.state === state).length);
        }
      },
    });
    new Gauge({
      name: 'isthmus_cluster_serving',
      help: '1 for a cluster that is served, 0 for one that should be and is not',
      labelNames: ['namespace', 'cluster'],
      registers,
      collect() {
        this.reset();
        // Two objects may claim one cluster name: the cluster is served even though the other object is rejected.
        const key = ({ namespace, name }: ClusterStatus) => `${namespace}/${name}`;
        const shown = sources.clusters().filter(({ state }) => state !== 'not-proxied');
        const served = new Set(shown.filter(({ state }) => state === 'serving').map(key));
        for (const each of shown) {
          this.set({ namespace: each.namespace, cluster: each.name }, served.has(key(each)) ? 1 : 0);
        }
      },
    });
    new Gauge({
      name: 'isthmus_cluster_connections',
      help: 'Open connections by cluster',
      labelNames: ['namespace', 'cluster'],
      registers,
      collect() {
        this.reset();
        for (const [key, count] of sources.connectionsPerCluster()) {
          const [namespace = '', cluster = ''] = key.split('/');
          this.set({ namespace, cluster }, count);
        }
      },
    });
    new Gauge({
      name: 'isthmus_backend_up',
      help: 'Backends of the cluster that passed their health checks; 0 when it has some and none did',
      labelNames: ['namespace', 'cluster'],
      registers,
      collect() {
        this.reset();
        for (const { namespace, name: cluster, backends } of sources.clusters()) {
          // inc(), not set(): of two objects that claim one cluster name, the rejected one has no backends.
          for (const { up } of backends) this.inc({ namespace, cluster }, up ? 1 : 0);
        }
      },
    });
  }
}

function servedCount({ direct, byListeners }: ClusterTraffic): number {
  return direct.ended - direct.unserved + byListeners.ended - byListeners.unserved;
}

/** A cluster without served connections has no series. */
function served(traffic: TrafficCounts): ClusterTraffic[] {
  return [...traffic.clusters()].filter((each) => servedCount(each) > 0);
}
