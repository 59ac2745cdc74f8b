import { expect, test } from 'vitest';
import { kubernetesView } from '../../../test/support/status-views.ts';
import { NO_TRAFFIC } from '../metrics/traffic.ts';
import type { ClusterView, StatusView } from './status.ts';
import { statusText } from './status-text.ts';

const ID = '0f1e2d3c-1111-2222-3333-444455556666';
const CLUSTER: ClusterView = {
  name: 'alpha',
  namespace: 'magnum-system',
  origin: 'OpenStackCluster magnum-system/alpha-x',
  state: 'serving',
  reason: 'healthy',
  serverNames: ['alpha.magnum-system'],
  netns: `qdhcp-${ID}`,
  backend: '10.0.0.5:6443',
  lastProbe: null,
  connections: 2,
  traffic: NO_TRAFFIC,
  backends: [],
  publication: { service: 'ours', slice: 'ready', readyInstances: 2, kubeconfig: 'proxied', problem: null },
};
const STATUS: StatusView = {
  instance: 'net-3',
  version: '0.1.0',
  startedAt: '2026-01-02T03:04:05.678Z',
  uptimeSeconds: 60,
  listen: '0.0.0.0:6443',
  ready: true,
  notReadyBecause: null,
  connections: 2,
  pendingDials: 0,
  pressure: {},
  traffic: NO_TRAFFIC,
  kubernetes: kubernetesView({
    identity:
      'the service account of this Pod, with the token in /var/run/secrets/kubernetes.io/serviceaccount/token',
  }),
  control: { stalledSince: null, lagMs: 0.4, probesAt: null },
  clusters: [
    CLUSTER,
    {
      ...CLUSTER,
      name: 'beta',
      state: 'unhealthy',
      reason: `no backend passes its health check: 10.0.0.5:6443 in ovnmeta-${ID} (ECONNREFUSED)`,
      publication: {
        service: 'foreign',
        slice: 'absent',
        readyInstances: 0,
        kubeconfig: 'direct',
        problem:
          'Service magnum-system/beta is not ours (no owner tag), so nothing is published under that name: rename or remove it',
      },
    },
  ],
  problems: [],
  listeners: [],
};

test('with Kubernetes, the text shows the API server and how each cluster is published', () => {
  expect(statusText(STATUS)).toBe(`isthmus 0.1.0 on net-3, listening on 0.0.0.0:6443: ready
Kubernetes https://10.20.0.10:6443: Lease held, 3 live instances (seen by lease)
  as the service account of this Pod, with the token in
    /var/run/secrets/kubernetes.io/serviceaccount/token
2 clusters, 2 open connections
  cluster  state      slice   kubeconfig
  alpha    serving    ready   proxied     10.0.0.5:6443 in qdhcp-0f1e2d3c-…, 2 connections
  beta     unhealthy  absent  direct      no backend passes its health check: 10.0.0.5:6443 in
                                          ovnmeta-${ID}
                                          (ECONNREFUSED)
    ! Service magnum-system/beta is not ours (no owner tag), so nothing is published under that
      name: rename or remove it
`);
});

test('no line is wider than 100, also with the longest name', () => {
  const text = statusText({
    ...STATUS,
    clusters: [
      ...STATUS.clusters,
      { ...CLUSTER, name: 'n'.repeat(63), state: 'no-netns', reason: 'no netns on this host '.repeat(9) },
    ],
    problems: [{ origin: 'watch of services', reason: 'forbidden: cannot list services '.repeat(9).trim() }],
  });
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  expect(text).toContain('n'.repeat(63));
});

const kubernetes = (parts: Partial<NonNullable<StatusView['kubernetes']>>): string =>
  statusText({ ...STATUS, kubernetes: { ...STATUS.kubernetes!, ...parts } });

test.each<[parts: Parameters<typeof kubernetes>[0], line: string]>([
  [{ lease: 'lost' }, 'Lease lost to another process, 3 live'],
  [{ lease: 'not-yet', instances: null, liveness: null }, 'Lease not held yet, instances not known\n'],
  [{ instances: 1, liveness: 'timestamp' }, '1 live instance (seen by timestamp)'],
  [
    { takesPart: false, takesPartBecause: 'Node net-1 is not selected: zone In a is not met' },
    '  does not take part, other instances serve its clients: Node net-1 is not selected: zone In a is',
  ],
  [{ staleSince: '2026-01-02T03:04:05.000Z' }, 'no update since 2026-01-02T03:04:05.000Z: routes use'],
])('%j', (parts, line) => {
  expect(kubernetes(parts)).toContain(line);
});

test('a cluster that is not published has dashes', () => {
  const { publication: _, ...cluster } = {
    ...CLUSTER,
    state: 'not-proxied' as const,
    reason: 'it has a floating IP',
  };
  expect(statusText({ ...STATUS, clusters: [cluster] })).toMatch(
    /alpha {4}not-proxied {2}- {6}- {11}it has a floating IP/,
  );
});
