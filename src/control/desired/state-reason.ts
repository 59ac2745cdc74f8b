// The reasons in the cluster status: why a cluster is in its state, and what would change that. They contain no times, so
// an unchanged World gives an unchanged status.

import { settledError, type TargetHealth } from '../../health/target-health.ts';
import { endpointText } from '../../routing/addresses.ts';
import type { ClusterFacts } from '../sources/cluster-source.ts';
import { isOvnNetns, type NetnsIndex } from '../world/netns-index.ts';
import { type ClusterCandidate, isUp } from './cluster-candidates.ts';

export function servingReason(candidates: readonly ClusterCandidate[]): string {
  const up = candidates.filter(isUp);
  // A Machine that is not checked yet is spare: a better way is up.
  const checked = candidates.filter(({ machine, health }) => machine === null || health?.lastProbe != null);
  const others = checked.every(isUp) ? '' : `; no answer at ${failures(checked)}`;
  return `answers at ${up.map(placeOf).join(', ')}${others}`;
}

export function unhealthyReason(candidates: readonly ClusterCandidate[]): string {
  // An OVN localport does not tunnel: only a node that runs one of the cluster's machines reaches the API server.
  const hint = candidates.some(({ netnsName }) => isOvnNetns(netnsName))
    ? '; with OVN this is normal on nodes that cannot reach the API server, and another node serves the cluster'
    : '';
  return `no backend passes its health check: ${failures(candidates)}${hint}`;
}

export function noNetnsReason(facts: ClusterFacts, index: NetnsIndex, netnsComplete: boolean): string {
  const unusable = facts.networkIds.flatMap((id) => index.findUnusable(id));
  if (unusable.length > 0) {
    return `its netns cannot be used: ${unusable.map(({ name, reason }) => `${name}: ${reason}`).join('; ')}`;
  }
  const expected = facts.networkIds.flatMap((id) => index.expectedNames(id)).join(' or ');
  return netnsComplete
    ? `no netns on this host belongs to network ${facts.networkIds.join(' or ')} (expected ${expected}); ` +
        'perhaps this node does not host that network'
    : `no netns ${expected} was found, but the netns directory is not completely readable`;
}

export function keptRouteReason(reason: string, candidates: readonly ClusterCandidate[]): string {
  if (candidates.length === 0) return reason;
  const up = candidates.filter(isUp);
  return up.length > 0
    ? `${reason}; the last known route stays, and answers at ${up.map(placeOf).join(', ')}`
    : `${reason}; the last known route stays, but does not answer: ${failures(candidates)}`;
}

function failures(candidates: readonly ClusterCandidate[]): string {
  return candidates
    .filter((candidate) => !isUp(candidate))
    .map((candidate) => `${placeOf(candidate)} ${failureOf(candidate.health)}`)
    .join(', ');
}

export function failureOf(health: TargetHealth | null | undefined): string {
  if (health?.lastProbe == null) return '(not checked yet)';
  // The probe passed, but not often enough to count as up.
  return health.lastProbe.error === null ? '(coming up)' : `(${settledError(health.lastProbe.error)})`;
}

export function placeOf(
  candidate: Pick<ClusterCandidate, 'backend' | 'netnsName'> & Partial<Pick<ClusterCandidate, 'machine'>>,
): string {
  const { backend, netnsName, machine = null } = candidate;
  return `${endpointText(backend)}${machine === null ? '' : ` (Machine ${machine})`} in ${netnsName}`;
}
