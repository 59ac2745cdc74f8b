// Sample /status documents, for tests of the code that reads them.

import { NO_TRAFFIC } from '../../src/telemetry/metrics/traffic.ts';
import type { ListenerView } from '../../src/telemetry/status/listener-view.ts';
import type { ClusterView, StatusView } from '../../src/telemetry/status/status.ts';

export const clusterView = (name: string, parts: Partial<ClusterView> = {}): ClusterView => ({
  name,
  namespace: 'magnum-system',
  origin: `${name}.yaml`,
  state: 'serving',
  reason: 'healthy',
  serverNames: [`${name}.magnum-system`],
  netns: 'qdhcp-0f1e2d3c-1111-2222-3333-444455556666',
  backend: '10.0.0.5:6443',
  lastProbe: null,
  connections: 0,
  traffic: NO_TRAFFIC,
  backends: [{ address: '10.0.0.5', port: 6443, netns: 'qdhcp-1', up: true, lastProbe: null }],
  ...parts,
});

export const listenerViewOf = (name: string, parts: Partial<ListenerView> = {}): ListenerView => ({
  name,
  namespace: 'magnum-system',
  cluster: 'alpha',
  protocol: 'TCP',
  port: 22,
  targetPort: 22,
  service: `alpha-${name}`,
  listenPort: 17_000,
  serverNames: [],
  state: 'serving',
  reason: 'served',
  detail: null,
  connections: 0,
  traffic: NO_TRAFFIC,
  counts: { members: 3, ready: 1, notReady: 1, ignored: 1 },
  members: [],
  ...parts,
});

export const statusOf = (parts: Partial<StatusView> = {}): StatusView => ({
  instance: 'net-3',
  version: '0.1.0',
  startedAt: '2026-01-02T03:04:05.678Z',
  uptimeSeconds: 100,
  listen: '0.0.0.0:6443',
  ready: true,
  notReadyBecause: null,
  connections: 0,
  pendingDials: 0,
  pressure: {},
  traffic: NO_TRAFFIC,
  kubernetes: null,
  control: { stalledSince: null, lagMs: 0.4, probesAt: null },
  clusters: [],
  listeners: [],
  problems: [],
  ...parts,
});

export const kubernetesView = (
  parts: Partial<NonNullable<StatusView['kubernetes']>> = {},
): NonNullable<StatusView['kubernetes']> => ({
  server: 'https://10.20.0.10:6443',
  identity: 'the service account of this Pod',
  instance: 'net-3',
  lease: 'held',
  liveness: 'lease',
  instances: 3,
  takesPart: true,
  takesPartBecause: 'every node takes part',
  staleSince: null,
  calls: {},
  ...parts,
});
