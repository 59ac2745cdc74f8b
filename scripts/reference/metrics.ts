// The page of the metrics. It fills a registry as `isthmus run` does and describes what is in it.
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { code, page, type ReferencePage, table } from './page.ts';

const sources = {
  version: '',
  engineStats: () => ({ connections: 0, pendingDials: 0, helloMemoryBytes: 0, netnsHandles: 0 }),
  clusters: () => [],
  connectionsPerCluster: () => new Map<string, number>(),
  listeners: () => [],
  connectionsPerListener: () => new Map<string, number>(),
  ready: () => true,
  controlLagMs: () => 0,
  problems: () => [],
};

const namesOf = (metrics: Metrics): Set<string> => new Set(metrics.registry.metrics.map(({ name }) => name));

export function metrics(): ReferencePage {
  const withoutKubernetes = namesOf(new Metrics({ ...sources, kubernetes: null }));
  const { registry } = new Metrics({ ...sources, kubernetes: () => null });
  const rows = registry.metrics.map(({ name, type, help, labelNames = [], buckets = [] }) => ({
    name,
    cells: [code(name), type, labelNames.map(code).join(', '), help],
    buckets: buckets.join(', '),
  }));
  const section = (isIn: (name: string) => boolean) =>
    table(
      ['metric', 'type', 'labels', 'help'],
      rows.filter(({ name }) => isIn(name)).map(({ cells }) => cells),
    );
  const isOwn = (name: string) => name.startsWith('isthmus_');
  return page({
    name: 'metrics',
    title: 'Metrics',
    sources: [
      'src/telemetry/metrics/metrics.ts',
      'src/telemetry/metrics/cluster-metrics.ts',
      'src/telemetry/metrics/listener-metrics.ts',
      'src/telemetry/metrics/kubernetes-metrics.ts',
      'src/telemetry/metrics/process-metrics.ts',
    ],
    blocks: [
      '`--admin` and `--health-listen` serve these metrics at `/metrics`, in the text format of Prometheus.',
      '## Traffic, clusters and listeners',
      section((name) => isOwn(name) && withoutKubernetes.has(name)),
      '## Kubernetes',
      'These metrics do not exist with `--source file:`.',
      section((name) => !withoutKubernetes.has(name)),
      '## Process',
      section((name) => !isOwn(name)),
      '## Buckets',
      table(
        ['histogram', 'upper bounds in seconds'],
        rows.filter(({ buckets }) => buckets !== '').map(({ name, buckets }) => [code(name), buckets]),
      ),
    ],
  });
}
