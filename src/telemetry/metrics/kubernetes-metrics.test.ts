import { beforeEach, expect, test } from 'vitest';
import { kubernetesView } from '../../../test/support/status-views.ts';
import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import type { Problem } from '../../control/objects/problem.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import { MASS_DELETE } from '../../control/world/mass-delete-breaker.ts';
import { kubernetesMetrics } from './kubernetes-metrics.ts';
import { MetricRegistry } from './metric-registry.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const KUBERNETES = kubernetesView({ calls: { list: 5, watch: 7 } });
const published = (slice: 'ready' | 'terminating' | 'absent'): ShownCluster => ({
  name: slice,
  namespace: 'magnum-system',
  origin: slice,
  state: 'serving',
  reason: '',
  serverNames: [],
  backends: [],
  publication: { service: 'ours', slice, readyInstances: 1, kubeconfig: 'proxied', problem: null },
});

let kubernetes: KubernetesStatus | null;
let problems: Problem[];
let clusters: ShownCluster[];
let registry: MetricRegistry;
beforeEach(() => {
  kubernetes = KUBERNETES;
  problems = [];
  clusters = [];
  registry = new MetricRegistry(
    kubernetesMetrics({
      kubernetes: () => kubernetes,
      clusters: () => clusters,
      problems: () => problems,
      wallNow: () => NOW,
    }),
  );
});

const samples = async (): Promise<string[]> =>
  (await registry.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('a healthy instance has all metrics', async () => {
  clusters = [published('ready'), published('terminating'), published('absent'), published('ready')];
  expect(await samples()).toEqual([
    'isthmus_kubernetes_requests_total{verb="list"} 5',
    'isthmus_kubernetes_requests_total{verb="watch"} 7',
    'isthmus_kubernetes_lease_held 1',
    'isthmus_kubernetes_instances 3',
    'isthmus_kubernetes_takes_part 1',
    'isthmus_kubernetes_stale_seconds 0',
    'isthmus_published_clusters 2',
    'isthmus_mass_delete_stopped 0',
  ]);
});

test('requests are counted once, however often the metrics are scraped', async () => {
  await samples();
  kubernetes = { ...KUBERNETES, calls: { list: 6, watch: 7, patch: 1 } };
  expect(await samples()).toEqual(
    expect.arrayContaining([
      'isthmus_kubernetes_requests_total{verb="list"} 6',
      'isthmus_kubernetes_requests_total{verb="patch"} 1',
    ]),
  );
});

test.each<[title: string, status: KubernetesStatus | null, sample: string]>([
  ['no report yet', null, 'isthmus_kubernetes_lease_held 0'],
  ['a Lease that is lost', { ...KUBERNETES, lease: 'lost' }, 'isthmus_kubernetes_lease_held 0'],
  ['a Lease that is not there yet', { ...KUBERNETES, lease: 'not-yet' }, 'isthmus_kubernetes_lease_held 0'],
  ['a node that takes no part', { ...KUBERNETES, takesPart: false }, 'isthmus_kubernetes_takes_part 0'],
  ['instances not known', { ...KUBERNETES, instances: null }, 'isthmus_kubernetes_instances 0'],
  [
    'an API that is silent for a minute and a half',
    { ...KUBERNETES, staleSince: '2026-01-02T03:02:35.000Z' },
    'isthmus_kubernetes_stale_seconds 90',
  ],
  [
    'a clock that was set back meanwhile',
    { ...KUBERNETES, staleSince: '2026-01-02T04:00:00.000Z' },
    'isthmus_kubernetes_stale_seconds 0',
  ],
])('%s', async (_title, status, sample) => {
  kubernetes = status;
  expect(await samples()).toContain(sample);
});

test('the metric of the mass delete breaker is set by the origin of its problem', async () => {
  problems = [{ origin: 'lease', reason: 'forbidden' }];
  expect(await samples()).toContain('isthmus_mass_delete_stopped 0');
  problems = [...problems, { origin: MASS_DELETE, reason: '40 of our 41 objects' }];
  expect(await samples()).toContain('isthmus_mass_delete_stopped 1');
});
