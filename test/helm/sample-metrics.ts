// The /metrics output of an instance that has seen every kind of event, and the series that Prometheus makes of it. Tests run the
// chart's queries on them: names and labels are the program's own.

import type { KubernetesStatus } from '../../src/control/apply/kubernetes-status.ts';
import type { ClusterState } from '../../src/control/desired/cluster-status.ts';
import type { ListenerStatus, MemberState } from '../../src/control/desired/listener-status.ts';
import type { ShownCluster } from '../../src/control/turn-result.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { servedRecord } from '../support/connection-records.ts';

const NAMESPACE = 'magnum-system';

/** The labels that the monitors of the chart add; `namespace` only if a metric has no such label (honorLabels). */
export const TARGET_LABELS = {
  node: 'net-1',
  instance: '10.0.0.11:9581',
  job: `${NAMESPACE}/isthmus`,
  pod: 'isthmus-x7k2p',
  container: 'isthmus',
  namespace: NAMESPACE,
} as const;

const RECORD = servedRecord({ serverName: `alpha.${NAMESPACE}`, cluster: 'alpha', namespace: NAMESPACE });

const cluster = (name: string, state: ClusterState): ShownCluster => ({
  ...{ name, namespace: NAMESPACE, origin: name, state, reason: state, serverNames: [] },
  backends: [{ key: name, address: '10.0.0.5', port: 6443, netns: 'qdhcp-1', up: state === 'serving' }],
});

const MEMBERS: readonly MemberState[] = ['Ready', 'NotReady', 'Ignored'];
const LISTENER: ListenerStatus = {
  ...{ name: 'ssh', namespace: NAMESPACE, cluster: 'alpha', protocol: 'TCP', port: 22, targetPort: 22 },
  ...{ service: 'alpha-ssh', listenPort: 17_000, serverNames: [], state: 'serving', reason: 'serving' },
  detail: null,
  members: MEMBERS.map((state) => ({
    ...{ machine: state, key: state, address: '10.0.0.6', netns: 'qdhcp-1', state },
    ...{ up: true, reason: state },
  })),
};

const KUBERNETES: KubernetesStatus = {
  ...{ server: 'https://10.96.0.1', identity: 'a service account', instance: 'net-1', lease: 'held' },
  ...{ liveness: 'lease', instances: 3, takesPart: true, takesPartBecause: null, staleSince: null },
  calls: { get: 2, watch: 7 },
};

/** The metrics in Prometheus' text format. */
export async function sampleMetrics(): Promise<string> {
  const metrics = new Metrics({
    version: '1.2.3',
    engineStats: () => ({ connections: 5, pendingDials: 2, helloMemoryBytes: 4096, netnsHandles: 3 }),
    clusters: () => [cluster('alpha', 'serving'), cluster('beta', 'unhealthy')],
    connectionsPerCluster: () => new Map([[`${NAMESPACE}/alpha`, 3]]),
    listeners: () => [LISTENER],
    connectionsPerListener: () => new Map([[`${NAMESPACE}/ssh`, 2]]),
    ready: () => true,
    controlLagMs: () => 3,
    problems: () => [{ origin: 'a watch', reason: 'it ended' }],
    kubernetes: () => KUBERNETES,
  });
  metrics.connectionEnded(RECORD);
  metrics.connectionEnded({ ...RECORD, outcome: 'refused-share', reason: 'cluster-connections' });
  metrics.dialFailed('ECONNREFUSED');
  metrics.healthChanged(1, 0);
  metrics.controlTurns([2, 40]);
  return metrics.registry.text();
}

export interface Series {
  readonly name: string;
  /** The labels of the metric and of the target. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** True for a counter or histogram, which grows; a gauge stays constant. */
  readonly grows: boolean;
}

export function seriesOf(text: string): readonly Series[] {
  const kinds = new Map<string, string>();
  const found: Series[] = [];
  for (const line of text.split('\n')) {
    const [, declared, kind] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (declared !== undefined) kinds.set(declared, kind as string);
    const [, name, inner = '', value] = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const own = Object.fromEntries(
      [...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, each]) => [key, each]),
    );
    const grows = (kinds.get(name) ?? kinds.get(name.replace(/_(bucket|count|sum)$/, ''))) !== 'gauge';
    found.push({ name, labels: { ...TARGET_LABELS, ...own }, value: Number(value), grows });
  }
  return found;
}

export function seriesText({ name, labels }: Pick<Series, 'name' | 'labels'>): string {
  const inside = Object.entries(labels).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${name}{${inside.join(',')}}`;
}
