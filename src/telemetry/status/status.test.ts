import { describe, expect, test } from 'vitest';
import type { BackendStatus } from '../../control/desired/cluster-status.ts';
import type { ShownCluster } from '../../control/turn-result.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import { TrafficCounts } from '../metrics/traffic.ts';
import { type StatusInput, statusView } from './status.ts';

const backend = (key: string, up: boolean, parts: Partial<BackendStatus> = {}): BackendStatus => ({
  key,
  address: '10.0.0.5',
  port: 6443,
  netns: `qdhcp-${key}`,
  up,
  ...parts,
});

const CLUSTER: ShownCluster = {
  name: 'kube',
  namespace: 'magnum-system',
  origin: 'a.yaml',
  state: 'serving',
  reason: 'healthy',
  serverNames: ['kube.magnum-system', 'kube'],
  backends: [backend('one', false), backend('two', true)],
};

const health = (ok: boolean): TargetHealth => ({
  up: ok,
  sinceMs: 0,
  lastProbe: {
    atMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    ok,
    durationMs: 1.2345,
    error: ok ? null : 'ECONNREFUSED',
  },
});

const traffic = new TrafficCounts();
for (const namespace of ['magnum-system', 'other'])
  traffic.add({
    ...{ namespace, cluster: 'kube', pool: null, backend: 'two' },
    ...{ bytesFromClient: 10, bytesFromBackend: 20 },
  });

const INPUT: StatusInput = {
  instance: 'node-1',
  version: '0.1.0',
  startedAtMs: Date.UTC(2026, 0, 2),
  uptimeSeconds: 11_046.5,
  listen: '0.0.0.0:6443',
  ready: true,
  notReadyBecause: null,
  connections: 7,
  pendingDials: 2,
  pressure: {},
  traffic,
  kubernetes: null,
  control: { stalledSinceMs: null, lagMs: 0.4321, probesAtMs: Date.UTC(2026, 0, 2, 3, 4, 6) },
  clusters: [CLUSTER],
  health: new Map([
    ['one', health(false)],
    ['two', health(true)],
  ]),
  connectionsPerCluster: new Map([
    ['magnum-system/kube', 5],
    ['other/kube', 2],
  ]),
  listeners: [],
  connectionsPerListener: new Map(),
  problems: [{ origin: 'b.yaml', reason: 'not YAML' }],
};

const PASSED = { at: '2026-01-02T03:04:05.678Z', ok: true, durationMs: 1.2, error: null };
const FAILED = { ...PASSED, ok: false, error: 'ECONNREFUSED' };

test('the view has the form that scripts read', () => {
  expect(JSON.parse(JSON.stringify(statusView(INPUT)))).toEqual({
    instance: 'node-1',
    version: '0.1.0',
    startedAt: '2026-01-02T00:00:00.000Z',
    uptimeSeconds: 11_046.5,
    listen: '0.0.0.0:6443',
    ready: true,
    notReadyBecause: null,
    connections: 7,
    pendingDials: 2,
    pressure: {},
    traffic: { ended: 2, unserved: 0, bytesFromClient: 20, bytesFromBackend: 40 },
    kubernetes: null,
    control: { stalledSince: null, lagMs: 0.4, probesAt: '2026-01-02T03:04:06.000Z' },
    problems: [{ origin: 'b.yaml', reason: 'not YAML' }],
    clusters: [
      {
        name: 'kube',
        namespace: 'magnum-system',
        origin: 'a.yaml',
        state: 'serving',
        reason: 'healthy',
        serverNames: ['kube.magnum-system', 'kube'],
        netns: 'qdhcp-two',
        backend: '10.0.0.5:6443',
        lastProbe: PASSED,
        connections: 5,
        traffic: { ended: 1, unserved: 0, bytesFromClient: 10, bytesFromBackend: 20 },
        backends: [
          { address: '10.0.0.5', port: 6443, netns: 'qdhcp-one', up: false, lastProbe: FAILED },
          { address: '10.0.0.5', port: 6443, netns: 'qdhcp-two', up: true, lastProbe: PASSED },
        ],
      },
    ],
    listeners: [],
  });
});

describe('the backend that is shown', () => {
  const shown = (backends: BackendStatus[], known = INPUT.health) =>
    statusView({ ...INPUT, health: known, clusters: [{ ...CLUSTER, backends }] }).clusters[0];

  test('is the first that is up', () => {
    expect(shown([backend('one', false), backend('two', true), backend('three', true)])).toMatchObject({
      netns: 'qdhcp-two',
    });
  });

  test('is the first if none is up, with the probe that shows why', () => {
    expect(shown([backend('one', false), backend('two', false)])).toMatchObject({
      netns: 'qdhcp-one',
      lastProbe: FAILED,
    });
  });

  test('is null if the cluster has no backend', () => {
    expect(shown([])).toMatchObject({ netns: null, backend: null, lastProbe: null, backends: [] });
  });

  test('has no probe before the first one, whether its health is already known or not', () => {
    const none: TargetHealth = { up: false, sinceMs: 0, lastProbe: null };
    expect(shown([backend('one', false)], new Map([['one', none]]))).toMatchObject({ lastProbe: null });
    expect(shown([backend('one', false)], new Map())).toMatchObject({ lastProbe: null });
  });

  test('is in brackets if it is IPv6', () => {
    expect(shown([backend('six', true, { address: 'fd00::5' })])).toMatchObject({
      backend: '[fd00::5]:6443',
    });
  });
});

test('a cluster without connections has 0', () => {
  const view = statusView({ ...INPUT, connectionsPerCluster: new Map() });
  expect(view.clusters[0]?.connections).toBe(0);
});

test('a stalled control loop is shown with the time at which it stalled', () => {
  const control = { stalledSinceMs: Date.UTC(2026, 0, 2), lagMs: 6000, probesAtMs: null };
  expect(statusView({ ...INPUT, control }).control).toEqual({
    stalledSince: '2026-01-02T00:00:00.000Z',
    lagMs: 6000,
    probesAt: null,
  });
});
