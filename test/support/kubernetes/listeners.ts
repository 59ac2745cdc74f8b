// A site with one cluster, its machines and additional listeners, as plain data for test worlds.

import { type DesiredState, desiredState } from '../../../src/control/desired/desired-state.ts';
import { TurnCache } from '../../../src/control/objects/turn-cache.ts';
import {
  type ListenerReading,
  readAdditionalListener,
} from '../../../src/control/sources/additional-listener.ts';
import type { ClusterReading } from '../../../src/control/sources/cluster-source.ts';
import type { ListenerSnapshot } from '../../../src/control/sources/listener-snapshot.ts';
import { isControlPlane, type MachineFacts, readMachine } from '../../../src/control/sources/machine.ts';
import type { KubeWorld } from '../../../src/control/world/kube-world.ts';
import { type World, worldOf } from '../../../src/control/world/world.ts';
import type { CertificateReading } from '../../../src/health/server-certificate.ts';
import type { TargetHealth } from '../../../src/health/target-health.ts';
import type { NetnsEntry } from '../../../src/netns/netns-directory.ts';
import type { PortOutcome } from '../../../src/routing/route-table.ts';

export const NAMESPACE = 'magnum-system';
export const NETWORK = '6f70ae1c-0f0f-4d44-9ed0-2b0d1b1b0001';
export const NETNS: NetnsEntry = {
  name: `qdhcp-${NETWORK}`,
  path: `/run/netns/qdhcp-${NETWORK}`,
  identity: 'cookie:1',
};
export const IGNORED = new Set(['generation']);

/** A cluster without a reachable API server: in this state operators need additional listeners. */
export const pendingCluster = (name: string, changes: object = {}): ClusterReading => ({
  kind: 'pending',
  key: `${NAMESPACE}/${name}-x`,
  name,
  namespace: NAMESPACE,
  origin: name,
  object: {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    name: `${name}-x`,
    uid: `cluster-${name}`,
    directServer: null,
    deleting: false,
  },
  clusterNetworkId: NETWORK,
  reason: 'no load balancer yet',
  ...changes,
});

export function machine(
  name: string,
  address: string | readonly string[],
  labels: Readonly<Record<string, string>> = {},
  changes: { readonly cluster?: string; readonly phase?: string; readonly deleting?: boolean } = {},
): MachineFacts {
  const { cluster = 'kube-1', phase = 'Running', deleting = false } = changes;
  return readMachine({
    metadata: {
      name,
      namespace: NAMESPACE,
      labels,
      ...(deleting && { deletionTimestamp: '2026-08-01T00:00:00Z' }),
    },
    spec: { clusterName: cluster },
    status: {
      phase,
      addresses: [address].flat().map((each) => ({ type: 'InternalIP', address: each })),
    },
  });
}

export function listener(name: string, spec: object = {}, metadata: object = {}): ListenerReading {
  return readAdditionalListener(
    {
      apiVersion: 'isthmus.dev/v1alpha1',
      kind: 'AdditionalListener',
      metadata: {
        name,
        namespace: NAMESPACE,
        uid: `uid-${name}`,
        generation: 1,
        creationTimestamp: '2026-08-01T00:00:00Z',
        ...metadata,
      },
      spec: { clusterName: 'kube-1', port: 22, selector: { matchLabels: { role: 'worker' } }, ...spec },
      status: (metadata as { status?: object }).status,
    },
    `AdditionalListener ${NAMESPACE}/${name}`,
    { ignoredLabels: IGNORED },
  );
}

export const keyAt = (address: string, port = 22): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}@${NETNS.path}#${NETNS.identity}`;

const verdict = (up: boolean): TargetHealth => ({
  up,
  sinceMs: 0,
  lastProbe: { atMs: 0, ok: up, durationMs: 1, error: up ? null : 'ECONNREFUSED' },
});

export interface SiteFacts {
  readonly clusters?: readonly ClusterReading[];
  readonly complete?: boolean;
  readonly netns?: readonly NetnsEntry[];
  readonly listeners?: readonly ListenerReading[];
  readonly machines?: readonly MachineFacts[];
  readonly snapshot?: Partial<ListenerSnapshot>;
  /** Keys of backends that pass their checks. `down` lists the backends that fail; all others are not probed yet. */
  readonly up?: readonly string[];
  readonly down?: readonly string[];
  /** Indexed by the name of the listener. */
  readonly ports?: Readonly<Record<string, PortOutcome>>;
  readonly kube?: KubeWorld | null;
  readonly controlPlanesKnown?: boolean;
  /** By key of the backend. */
  readonly certificates?: ReadonlyMap<string, CertificateReading>;
}

export function worldFor(facts: SiteFacts, previous: World | null = null, departureMs = 5000): World {
  const { clusters = [pendingCluster('kube-1')], complete = true, netns = [NETNS] } = facts;
  return worldOf(
    {
      source: { complete, clusters, problems: [] },
      netns: { complete: true, entries: netns, problems: [] },
      health: new Map([
        ...(facts.up ?? []).map((key) => [key, verdict(true)] as const),
        ...(facts.down ?? []).map((key) => [key, verdict(false)] as const),
      ]),
      kube: facts.kube ?? null,
      ports: new Map(
        Object.entries(facts.ports ?? {}).map(([name, outcome]) => [`${NAMESPACE}/${name}`, outcome]),
      ),
      listeners: {
        complete: true,
        listeners: facts.listeners ?? [],
        machines: facts.machines ?? [],
        machinesKnown: true,
        machinesProblem: null,
        problems: [],
        ...facts.snapshot,
      },
      controlPlanes: (facts.machines ?? []).filter(isControlPlane),
      ...(facts.controlPlanesKnown !== undefined && { controlPlanesKnown: facts.controlPlanesKnown }),
      ...(facts.certificates !== undefined && { certificates: facts.certificates }),
    },
    previous,
    { departureMs, allowMassDelete: false },
  );
}

/** One object: decisions are cached for the same settings only. */
const DESIRED_SETTINGS = { namespace: NAMESPACE, defaultCluster: null };

export const desiredFor = (world: World, cache: TurnCache = new TurnCache()): DesiredState =>
  desiredState(world, DESIRED_SETTINGS, cache);
