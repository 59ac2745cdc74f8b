// The candidate backends of a cluster, with the results of their probes. A candidate is one way to the API server: its address, or the
// address of a control-plane Machine, in one netns of the cluster's networks. All are probed; routes contain only those that are up.
import type { ProbeTarget } from '../../health/probe.ts';
import type { TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry } from '../../netns/netns-directory.ts';
import { type Backend, backendKey } from '../../routing/route-table.ts';
import { machineNetworkOf } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';
import type { MachineFacts } from '../sources/machine.ts';
import type { DesiredContext } from './desired-context.ts';

export interface ClusterCandidate {
  readonly backend: Backend;
  readonly netnsName: string;
  /** The name of the control-plane Machine; null: the API server's own address. */
  readonly machine: string | null;
  /** null until the first probe. */
  readonly health: TargetHealth | null;
}

/**
 * Best first: the API server's own address by network, then by kind of netns; after it the Machines by netns and name. Engines try them
 * in this order.
 */
export function clusterCandidates(
  facts: ClusterFacts,
  reading: ClusterReading,
  { index, world: { health }, controlPlanes }: Pick<DesiredContext, 'index' | 'world' | 'controlPlanes'>,
): readonly ClusterCandidate[] {
  const found = new Map<string, ClusterCandidate>();
  const add = (address: string, machine: string | null, { name, path, identity }: NetnsEntry) => {
    const where = { address, port: facts.port, netns: Object.freeze({ path, identity }) };
    const key = backendKey(where);
    if (found.has(key)) return;
    const backend = Object.freeze({ key, ...where });
    found.set(key, { backend, netnsName: name, machine, health: health.get(key) ?? null });
  };
  for (const id of facts.networkIds) for (const entry of index.find(id)) add(facts.address, null, entry);
  // Only in the cluster's own network. Other tenants may share the load balancer's network, where the same address is another machine.
  const networkId = machineNetworkOf(reading, facts);
  const addresses = networkId === null ? [] : machineAddresses(controlPlanes.of(facts.namespace, facts.name));
  if (networkId !== null)
    for (const entry of index.find(networkId))
      for (const { address, machine } of addresses) add(address, machine, entry);
  return [...found.values()];
}

/** Control planes have 1, 3 or 5 machines, and a rollout adds one. The limit keeps thousands of Machines from causing as many probes. */
const MAX_MACHINE_ADDRESSES = 7;

/** By name: first one address of each Machine, then the second ones. So no Machine takes the place of another one. */
function machineAddresses(
  machines: readonly MachineFacts[],
): readonly { readonly address: string; readonly machine: string }[] {
  const found = new Map<string, string>();
  // A Machine that is being deleted has left etcd, or does so soon.
  const staying = machines.filter(({ leaving, addresses }) => !leaving && addresses.length > 0);
  const rounds = staying.reduce((most, { addresses }) => Math.max(most, addresses.length), 0);
  for (let round = 0; round < rounds; round += 1)
    for (const { name, addresses } of staying) {
      if (found.size >= MAX_MACHINE_ADDRESSES) break;
      const address = addresses[round];
      if (address !== undefined && !found.has(address)) found.set(address, name);
    }
  return Array.from(found, ([address, machine]) => ({ address, machine }));
}

/** The probes of all candidates. A Machine is spare while a better candidate is up, or while the API server's own address has no verdict. */
export function candidateTargets(
  candidates: readonly ClusterCandidate[],
  serverName: string,
): readonly ProbeTarget[] {
  let isBetterUp = false;
  return candidates.map(({ backend, machine, health }) => {
    const way = machine === null ? {} : { way: isBetterUp ? ('spare' as const) : ('needed' as const) };
    isBetterUp ||= health?.up === true || (machine === null && health?.lastProbe?.ok !== false);
    return Object.freeze({ ...backend, serverName, ...way });
  });
}

export const isUp = ({ health }: ClusterCandidate): boolean => health?.up === true;

/** Compares only what decisions and reasons use. The time and duration of a probe may differ. */
export const isSameHealth = (a: TargetHealth | null, b: TargetHealth | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.up === b.up &&
    a.lastProbe?.ok === b.lastProbe?.ok &&
    a.lastProbe?.error === b.lastProbe?.error);
