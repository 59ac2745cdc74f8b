// Plans the server of one cluster's kubeconfig. Instances rewrite it to the proxy only while one of them is ready. When the cluster
// is no longer proxied, they restore it before the Service is deleted. Instances write in turn, so two never overwrite each other.
// The next instance writes if the first does not. A Secret is read only after it changed. Pure.

import {
  kubeconfigName,
  type Publication,
  type PublicationStatus,
  proxiedServer,
} from '../desired/publication.ts';
import { isFirst, KUBECONFIG, rankAmong, turnAtMs } from '../instance/turn-order.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import type { Action } from './plan.ts';

export interface KubeconfigPlan {
  readonly state: PublicationStatus['kubeconfig'];
  readonly action: Action | null;
  /** The kubeconfig still points to the proxy: the Service must stay. */
  readonly leadsHere: boolean;
  readonly problem: string | null;
  /** Since when instances of a lower rank could have written it, and until when this instance waits for them; null: no wait. */
  readonly waiting: { readonly sinceMs: number; readonly untilMs: number } | null;
}

const NOT_NOW = { action: null, waiting: null } as const;

export function kubeconfigPlan(
  publication: Publication,
  /** The slices of all instances. */
  slices: readonly OwnedSlice[],
  kube: KubeWorld,
  namespace: string,
  /** Since when this instance waits for earlier ones, from the last plan. */
  waitsSinceMs: number | null,
): KubeconfigPlan {
  const { cluster, object, want } = publication;
  const name = kubeconfigName(cluster);
  const key = `${publication.namespace}/${name}`;
  const secret = kube.kubeconfigs?.get(key);
  // A Secret that is not watched may still point to the proxy.
  const unseen = want === 'leaving' && !kube.kubeconfigsWatched;
  const waits = `Secret ${key} cannot be watched, so the Service stays: it may still lead to it`;
  if (secret === undefined) {
    const state = kube.kubeconfigs === null ? 'unread' : 'absent';
    return { state, leadsHere: unseen, problem: unseen ? waits : null, ...NOT_NOW };
  }
  const finding = kube.findings.get(key);
  const known = finding?.resourceVersion === secret.resourceVersion ? finding : undefined;
  const ours = proxiedServer(cluster, namespace);
  const marked = secret.recordedServer !== null;
  const state = stateOf(known, ours, marked);
  const ready = slices.filter((slice) => slice.ready && kube.peers.live.has(slice.instance));
  const isSelf = ({ instance }: OwnedSlice) => instance === kube.self.instance;
  const action = (server: string, annotate: boolean, why: string): Action => ({
    kind: 'kubeconfig',
    resource: 'secrets',
    namespace: publication.namespace,
    name,
    cluster,
    server,
    annotate,
    why,
  });
  const skipReason = (problem: string | null) => ({ state, leadsHere: false, problem, ...NOT_NOW });
  const inTurn = (rank: number, write: Action) => {
    if (rank === 0) return { action: write, waiting: null };
    const sinceMs = waitsSinceMs ?? kube.nowMs;
    const untilMs = turnAtMs(KUBECONFIG, rank, sinceMs);
    return { action: kube.nowMs >= untilMs ? write : null, waiting: { sinceMs, untilMs } };
  };
  if (known !== undefined && known.skipReason !== null)
    return skipReason(`Secret ${key} is left alone: ${known.skipReason}`);

  if (want === 'leaving') {
    // Without our annotate, the kubeconfig never pointed to the proxy, or another writer restored it.
    if (!marked) return { ...skipReason(unseen ? waits : null), leadsHere: unseen };
    if (object === null || object.directServer === null) {
      return skipReason(
        `Secret ${key} still leads to the proxy, and the cluster has no spec.controlPlaneEndpoint to give it back`,
      );
    }
    // A peer with a ready slice still treats the cluster as proxied. It would rewrite the kubeconfig again.
    const free = isFirst(kube.peers) || (kube.kubeconfigsWatched && ready.every(isSelf));
    const back = action(object.directServer, false, 'the cluster is no longer proxied');
    return { state, leadsHere: true, problem: null, ...(free ? inTurn(kube.peers.rank, back) : NOT_NOW) };
  }

  const rank = rankAmong(
    kube.self.instance,
    ready.map(({ instance }) => instance),
  );
  const isMarked = secret.recordedServer === ours;
  const done = known !== undefined && known.server === ours && isMarked;
  // Only a read shows whether the server in an annotated Secret was changed. The first instance reads it. The others act only
  // if our annotation is missing. Otherwise every instance would read every change.
  const isNeeded = rank === 0 ? !done : kube.kubeconfigsWatched && !isMarked;
  const turn =
    ready.some(isSelf) && want === 'live' && isNeeded
      ? inTurn(rank, action(ours, true, 'the cluster has a ready endpoint'))
      : NOT_NOW;
  return { state, leadsHere: marked, problem: null, ...turn };
}

function stateOf(
  known: { readonly server: string | null; readonly skipReason: string | null } | undefined,
  ours: string,
  marked: boolean,
): PublicationStatus['kubeconfig'] {
  if (known === undefined) return marked ? 'proxied' : 'unread';
  if (known.skipReason !== null) return 'left-alone';
  return known.server === ours ? 'proxied' : 'direct';
}
