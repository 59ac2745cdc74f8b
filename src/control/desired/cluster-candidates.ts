// The backends a cluster could be reached by: its API server's address, seen from each netns that belongs to one of its
// networks, with what the probes say. All are probed; only those that are up are routed to.
import type { TargetHealth } from '../../health/target-health.ts';
import type { NetnsEntry } from '../../netns/netns-snapshot.ts';
import { type Backend, backendKey } from '../../routing/route-table.ts';
import type { ClusterFacts } from '../sources/cluster-source.ts';
import type { NetnsIndex } from '../world/netns-index.ts';

export interface Candidate {
  readonly backend: Backend;
  readonly netnsName: string;
  /** Null until it is probed. */
  readonly health: TargetHealth | null;
}

/** Best first: by network, then by kind of netns. */
export function clusterCandidates(
  facts: ClusterFacts,
  index: NetnsIndex,
  health: ReadonlyMap<string, TargetHealth>,
): readonly Candidate[] {
  const found = new Set<NetnsEntry>();
  for (const id of facts.networkIds) for (const entry of index.find(id)) found.add(entry);
  return Array.from(found, ({ name, path, identity }) => {
    const where = { address: facts.address, port: facts.port, netns: Object.freeze({ path, identity }) };
    const backend = Object.freeze({ key: backendKey(where), ...where });
    return { backend, netnsName: name, health: health.get(backend.key) ?? null };
  });
}

export const isUp = ({ health }: Candidate): boolean => health?.up === true;

/** Neither up nor known to be down: since we started it has not been asked, or not often enough. */
export const isUnjudged = ({ health }: Candidate): boolean =>
  health === null || (!health.up && health.lastProbe?.ok !== false);

/** Nothing that is decided, or said in a reason, differs: when it was probed and how long that took may. */
export const isSameHealth = (a: TargetHealth | null, b: TargetHealth | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.up === b.up &&
    a.lastProbe?.ok === b.lastProbe?.ok &&
    a.lastProbe?.error === b.lastProbe?.error);
