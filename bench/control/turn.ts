// Measures what one turn of the control loop costs its thread: 1000 clusters with three machines each, each published by 20 instances. Run with the pinned Node:
//   node bench/control/turn.ts [clusters] [instances] [control-plane machines of each cluster]
// Prints the median and p99 of the thread's own CPU time in milliseconds, so other work on the machine does not count. Measures a turn
// without a change, which must plan nothing, and a turn after one change.

import { type Desired, desiredState } from '../../src/control/desired/desired-state.ts';
import { PeerWatch } from '../../src/control/instance/peer-watch.ts';
import { observedLease, observedService, observedSlice } from '../../src/control/objects/observed-objects.ts';
import { endpointSliceOf, serviceOf } from '../../src/control/objects/published-objects.ts';
import { sliceIndex } from '../../src/control/objects/slice-index.ts';
import { TurnCache } from '../../src/control/objects/turn-cache.ts';
import { diff } from '../../src/control/plan/diff.ts';
import { NO_MEMORY, type PlanMemory } from '../../src/control/plan/plan.ts';
import { settledResult } from '../../src/control/settled-result.ts';
import type { ClusterReading, SourceSnapshot } from '../../src/control/sources/cluster-source.ts';
import { readMachine } from '../../src/control/sources/machine.ts';
import { turnResult } from '../../src/control/turn-result.ts';
import type { KubeWorld } from '../../src/control/world/kube-world.ts';
import { type World, worldOf } from '../../src/control/world/world.ts';
import type { TargetHealth } from '../../src/health/target-health.ts';
import type { KubeObject } from '../../src/kube/kube-object.ts';
import { Mirror } from '../../src/kube/watch/mirror.ts';
import { backendKey } from '../../src/routing/route-table.ts';

const CLUSTERS = Number(process.argv[2] ?? 1000);
const INSTANCES = Number(process.argv[3] ?? 20);
const MACHINES = Number(process.argv[4] ?? 3);
const ROUNDS = 60;
const NAMESPACE = 'magnum-system';
const SELF = 'net-07';
const DESIRED = { namespace: NAMESPACE, defaultCluster: null };
const SETTINGS = { namespace: NAMESPACE, propagationWaitMs: 5000, allowMassDelete: false, tags: {} };

const names = Array.from({ length: CLUSTERS }, (_, i) => `cluster-${String(i).padStart(4, '0')}`);
const instances = Array.from({ length: INSTANCES }, (_, i) => `net-${String(i).padStart(2, '0')}`);
const networkOf = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
const ownerOf = (name: string) => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  name: `${name}-abcde`,
  namespace: NAMESPACE,
  uid: `uid-${name}`,
});
const stored = (object: { metadata?: object }, version: number) =>
  JSON.parse(
    JSON.stringify({
      ...object,
      metadata: { ...object.metadata, uid: `uid-${version}`, resourceVersion: String(version) },
    }),
  );

const keyOf = ({ metadata }: KubeObject) => metadata.name;
const services = new Mirror({ project: observedService, keyOf });
const slices = new Mirror({ project: observedSlice, keyOf });
const leases = new Mirror({ project: observedLease, keyOf });
let version = 0;
for (const cluster of names) {
  const facts = {
    cluster,
    namespace: NAMESPACE,
    clusterNamespace: NAMESPACE,
    holder: `${NAMESPACE}/${cluster}-abcde`,
    owner: ownerOf(cluster),
    mode: 'lease',
    tags: {},
  } as const;
  services.put(stored(serviceOf(facts), ++version));
  for (const instance of instances) slices.put(stored(sliceOf(cluster, instance), ++version));
}
function sliceOf(cluster: string, instance: string, port = 6443) {
  return endpointSliceOf({
    cluster,
    namespace: NAMESPACE,
    owner: ownerOf(cluster),
    instance,
    address: '192.0.2.7',
    family: 'IPv4',
    port,
    nodeName: instance,
    mode: 'lease',
    timestamp: null,
    terminating: false,
    tags: {},
  });
}
for (const mirror of [services, slices])
  for (const [key, reason] of mirror.rejected()) throw new Error(`${key}: ${reason}`);

const readings: ClusterReading[] = names.map((name, i) => ({
  kind: 'proxied',
  facts: {
    key: `${NAMESPACE}/${name}-abcde`,
    name,
    namespace: NAMESPACE,
    origin: `OpenStackCluster ${NAMESPACE}/${name}-abcde`,
    createdAtMs: 0,
    object: { ...ownerOf(name), directServer: 'https://10.0.0.5:6443', deleting: false },
    networkIds: [networkOf(i)],
    clusterNetworkId: networkOf(i),
    address: '10.0.0.5',
    port: 6443,
  },
}));
const source: SourceSnapshot = { complete: true, clusters: readings, problems: [] };
const entries = names.map((_, i) => ({
  name: `qdhcp-${networkOf(i)}`,
  path: `/run/netns/qdhcp-${networkOf(i)}`,
  identity: String(i),
}));
const netns = { complete: true, entries, problems: [] };
const ADDRESSES = Array.from({ length: MACHINES }, (_, i) => `10.0.0.${10 + i}`);
const controlPlanes = names.flatMap((cluster) =>
  ADDRESSES.map((address, i) =>
    readMachine({
      metadata: {
        name: `${cluster}-cp-${i}`,
        namespace: NAMESPACE,
        labels: { 'cluster.x-k8s.io/control-plane': '' },
      },
      spec: { clusterName: cluster },
      status: { addresses: [{ type: 'InternalIP', address }] },
    }),
  ),
);
const health = new Map<string, TargetHealth>(
  entries.flatMap(({ path, identity }) =>
    ['10.0.0.5', ...ADDRESSES].map(
      (address) =>
        [
          backendKey({ address, port: 6443, netns: { path, identity } }),
          { up: true, lastProbe: { ok: true } } as unknown as TargetHealth,
        ] as const,
    ),
  ),
);
const secrets = new Map(
  names.map((name) => [
    `${NAMESPACE}/${name}-kubeconfig`,
    { resourceVersion: '1', recordedServer: `https://${name}.${NAMESPACE}:6443`, recordedTlsName: null },
  ]),
);
const findings = new Map(
  names.map((name) => [
    `${NAMESPACE}/${name}-kubeconfig`,
    {
      resourceVersion: '1',
      server: `https://${name}.${NAMESPACE}:6443`,
      tlsServerName: null,
      skipReason: null,
    },
  ]),
);
const peers = new PeerWatch({
  client: { request: () => new Promise(() => {}) },
  namespace: NAMESPACE,
  instance: SELF,
  liveness: 'auto',
  now: () => performance.now(),
  onChange: () => {},
});

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const parts = new Map<string, number[]>();
function timed<T>(part: string, work: () => T): T {
  const start = cpuMs();
  const result = work();
  const list = parts.get(part) ?? [];
  list.push(cpuMs() - start);
  parts.set(part, list);
  return result;
}

const cache = new TurnCache();
const snapshots = { services: services.items(), slices: slices.items() };

let world: World | null = null;
let desired: Desired | null = null;
let memory: PlanMemory = NO_MEMORY;
function turn(kind: string): number {
  const okSinceMs = performance.now();
  return timed(kind, () => {
    const index = timed(`${kind}: sliceIndex`, () => sliceIndex(snapshots.slices, cache));
    const view = timed(`${kind}: peers`, () =>
      peers.look(leases.items(), index, { okSinceMs, lastRenewOkMs: okSinceMs }, true),
    );
    const kube: KubeWorld = {
      nowMs: performance.now(),
      wallMs: Date.now(),
      synced: true,
      complete: true,
      self: {
        instance: SELF,
        nodeName: SELF,
        endpoint: { address: '192.0.2.7', family: 'IPv4', port: 6443 },
        started: true,
        holder: true,
        lapsed: false,
        participation: { takesPart: true, reason: '', problem: null },
        draining: false,
      },
      peers: view.peers,
      doubtedLeases: view.unconfirmed,
      servicesListed: true,
      services: snapshots.services,
      slices: index,
      kubeconfigs: secrets,
      kubeconfigsWatched: true,
      findings,
      problems: [],
      lookAgainAtMs: view.lookAgainAtMs,
    };
    const next = timed(`${kind}: worldOf`, () =>
      worldOf({ source, netns, health, kube, controlPlanes }, world, {
        departureMs: 5000,
        allowMassDelete: false,
      }),
    );
    world = next;
    const decided = timed(`${kind}: desiredState`, () => desiredState(next, DESIRED, cache));
    const plan = timed(`${kind}: diff`, () => diff(kube, decided, { settings: SETTINGS, memory, cache }));
    memory = plan.memory;
    const before = desired;
    desired = timed(`${kind}: settled`, () => settledResult(before, turnResult(decided, plan, cache)));
    return plan.actions.length;
  });
}

turn('first');
for (let i = 0; i < ROUNDS; i += 1)
  if (turn('nothing changed') !== 0) throw new Error('it planned something');
for (let i = 0; i < ROUNDS; i += 1) {
  const name = names[(i * 37) % names.length] as string;
  slices.put(stored(sliceOf(name, instances[3] as string, 7000 + i), ++version));
  snapshots.slices = timed('one slice changed: snapshot', () => slices.items());
  if (turn('one slice changed') !== 0) throw new Error('it planned something');
}

console.log(
  `${CLUSTERS} clusters with ${MACHINES} machines, ${INSTANCES} instances, ${slices.items().size} slices; milliseconds`,
);
const at = (sorted: readonly number[], share: number) =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2).padStart(8);
for (const [part, times] of parts) {
  const sorted = times.toSorted((a, b) => a - b);
  console.log(`${part.padEnd(34)} median ${at(sorted, 0.5)}  p99 ${at(sorted, 0.99)}  n ${times.length}`);
}
