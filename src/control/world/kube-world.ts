// What one turn knows from Kubernetes besides the clusters: the published objects, this instance and its peers. Plain data. It
// combines the snapshots of the publication source and of the membership.

import type { Peers, Self } from '../instance/instance-state.ts';
import type { MembershipView } from '../instance/membership.ts';
import type { KubeconfigFinding, KubeconfigSecret } from '../objects/observed-objects.ts';
import type { Problem } from '../objects/problem.ts';
import type { ServiceObject } from '../objects/published-objects.ts';
import type { SliceIndex } from '../objects/slice-index.ts';
import type { PublicationSnapshot } from '../sources/publication-source.ts';

export interface KubeWorld {
  /** `nowMs` is monotonic. `wallMs` is the wall clock, for timestamps that are written to objects. */
  readonly nowMs: number;
  readonly wallMs: number;
  /** All first lists have arrived. Nothing is written before that, because a missing object may not have been listed yet. */
  readonly synced: boolean;
  /** False until all lists have arrived, and while any watch is broken. While it is false, objects of other instances are not changed. */
  readonly complete: boolean;
  readonly self: Self;
  readonly peers: Peers;
  /** Names of Leases to read live: of peers that seem dead, and our own while the watch shows another holder. */
  readonly doubtedLeases: readonly string[];
  /** The Services were listed once. Before that, the absence of a Service proves nothing. */
  readonly servicesListed: boolean;
  /** By name: all Services in the proxy's namespace, including foreign ones, because a foreign Service can occupy a name. */
  readonly services: ReadonlyMap<string, ServiceObject>;
  /** The EndpointSlices in the proxy's namespace. */
  readonly slices: SliceIndex;
  /** By `<namespace>/<name>`; null before the first list. */
  readonly kubeconfigs: ReadonlyMap<string, KubeconfigSecret> | null;
  /** The kubeconfigs are watched. A missing kubeconfig does not exist, and one without our annotation does not point to this proxy. */
  readonly kubeconfigsWatched: boolean;
  readonly findings: ReadonlyMap<string, KubeconfigFinding>;
  /** Problems with watches, with the Lease and with writes. */
  readonly problems: readonly Problem[];
  /** When a peer may expire without any new observation, so a turn is necessary (monotonic); null: never. */
  readonly lookAgainAtMs: number | null;
}

export function kubeWorld({
  nowMs,
  wallMs,
  objects,
  membership,
  writeProblems,
}: {
  readonly nowMs: number;
  readonly wallMs: number;
  readonly objects: PublicationSnapshot;
  readonly membership: MembershipView;
  readonly writeProblems: readonly Problem[];
}): KubeWorld {
  const { self, peers, doubtedLeases, lookAgainAtMs } = membership;
  const { servicesListed, services, slices, kubeconfigs, kubeconfigsWatched, findings } = objects;
  return Object.freeze({
    nowMs,
    wallMs,
    synced: objects.synced && membership.synced,
    complete: objects.complete && membership.complete,
    self,
    peers,
    doubtedLeases,
    servicesListed,
    services,
    slices,
    kubeconfigs,
    kubeconfigsWatched,
    findings,
    problems: [...objects.problems, ...membership.problems, ...writeProblems],
    lookAgainAtMs,
  });
}
