// The page of the metrics. It fills a registry as `isthmus run` does and describes what is in it.
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { code, page, type ReferencePage, table } from './page.ts';

/** What the page reads of a registered metric. */
interface Described {
  readonly name: string;
  readonly labelNames?: readonly string[];
  readonly buckets?: readonly number[];
}

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

const namesOf = (metrics: Metrics): Set<string> =>
  new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name));

export async function metrics(): Promise<ReferencePage> {
  const withoutKubernetes = namesOf(new Metrics({ ...sources, kubernetes: null }));
  const { registry } = new Metrics({ ...sources, kubernetes: () => null });
  const described = registry.getMetricsAsArray() as unknown as readonly Described[];
  const values = await registry.getMetricsAsJSON();
  const rows = described.map(({ name, labelNames = [], buckets = [] }) => {
    const { help, type } = values.find((each) => each.name === name)!;
    return {
      name,
      cells: [code(name), String(type), labelNames.map(code).join(', '), help],
      buckets: buckets.join(', '),
    };
  });
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
