// The candidate backends of a cluster, with the results of their probes. A candidate is the address of the API server in one netns of the
// cluster's networks. All candidates are probed; routes contain only those that are up.
import type { TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry } from '../../netns/netns-directory.ts';
import { type Backend, backendKey } from '../../routing/route-table.ts';
import type { ClusterFacts } from '../sources/cluster-source.ts';
import type { NetnsIndex } from '../world/netns-index.ts';

export interface ClusterCandidate {
  readonly backend: Backend;
  readonly netnsName: string;
  /** null until the first probe. */
  readonly health: TargetHealth | null;
}

/** Best first: by network, then by kind of netns. */
export function clusterCandidates(
  facts: ClusterFacts,
  index: NetnsIndex,
  health: ReadonlyMap<string, TargetHealth>,
): readonly ClusterCandidate[] {
  const found = new Set<NetnsEntry>();
  for (const id of facts.networkIds) for (const entry of index.find(id)) found.add(entry);
  return Array.from(found, ({ name, path, identity }) => {
    const where = { address: facts.address, port: facts.port, netns: Object.freeze({ path, identity }) };
    const backend = Object.freeze({ key: backendKey(where), ...where });
    return { backend, netnsName: name, health: health.get(backend.key) ?? null };
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
