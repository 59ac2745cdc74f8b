// Whether the kubeconfig of one cluster has to be read, and what its server should be. It leads to us only while somebody is
// ready, and back to the control plane endpoint before anything else of a cluster that is no longer proxied is taken away.
// One instance does it, so that two never fight, and the next one if it does not; a Secret is read only when it changed. Pure.

import {
  kubeconfigName,
  type Publication,
  type PublicationStatus,
  proxiedServer,
} from '../desired/publication.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import type { Action } from './plan.ts';

export interface KubeconfigPlan {
  readonly state: PublicationStatus['kubeconfig'];
  readonly action: Action | null;
  /** A kubeconfig still leads to us: the Service must stay. */
  readonly leadsHere: boolean;
  readonly problem: string | null;
  /** Since when those whose turn comes before ours could have written it; null: it is ours at once, or nobody's. */
  readonly waiting: { readonly sinceMs: number; readonly untilMs: number } | null;
}

/** So long one request may take: each further instance leaves those before it this much more time. */
const TURN_MS = 10_000;
const NOT_NOW = { action: null, waiting: null } as const;

export function kubeconfigPlan(
  publication: Publication,
  /** Of all instances. */
  slices: readonly OwnedSlice[],
  kube: KubeWorld,
  namespace: string,
  /** Since when we have waited for others, by the last plan. */
  waitsSinceMs: number | null,
): KubeconfigPlan {
  const { cluster, object, want } = publication;
  const name = kubeconfigName(cluster);
  const key = `${publication.namespace}/${name}`;
  const secret = kube.kubeconfigs?.get(key);
  // What cannot be seen may lead here.
  const unseen = want === 'leaving' && !kube.kubeconfigsHeard;
  const waits = `Secret ${key} cannot be watched, so the Service stays: it may still lead to it`;
  if (secret === undefined) {
    const state = kube.kubeconfigs === null ? 'unread' : 'absent';
    return { state, leadsHere: unseen, problem: unseen ? waits : null, ...NOT_NOW };
  }

  const finding = kube.findings.get(key);
  const known = finding?.resourceVersion === secret.resourceVersion ? finding : undefined;
  const ours = proxiedServer(cluster, namespace);
  const marked = secret.markedServer !== null;
  const state = stateOf(known, ours, marked);
  const ready = slices.filter((slice) => slice.ready && kube.peers.live.has(slice.instance));
  const isSelf = ({ instance }: OwnedSlice) => instance === kube.self.instance;
  const action = (server: string, mark: boolean, why: string): Action => ({
    kind: 'kubeconfig',
    resource: 'secrets',
    namespace: publication.namespace,
    name,
    cluster,
    server,
    mark,
    why,
  });
  const leftAlone = (problem: string | null) => ({ state, leadsHere: false, problem, ...NOT_NOW });
  /** Of what the one at `place` may do, the first's being 0. */
  const inTurn = (place: number, write: Action) => {
    if (place === 0) return { action: write, waiting: null };
    const sinceMs = waitsSinceMs ?? kube.nowMs;
    const untilMs = sinceMs + place * TURN_MS;
    return { action: kube.nowMs >= untilMs ? write : null, waiting: { sinceMs, untilMs } };
  };
  if (known !== undefined && known.leftAlone !== null)
    return leftAlone(`Secret ${key} is left alone: ${known.leftAlone}`);

  if (want === 'leaving') {
    // Without our mark it never led here, or somebody else has taken care of it.
    if (!marked) return { ...leftAlone(unseen ? waits : null), leadsHere: unseen };
    if (object === null || object.directServer === null) {
      return leftAlone(
        `Secret ${key} still leads to the proxy, and the cluster has no spec.controlPlaneEndpoint to give it back`,
      );
    }
    const { rank } = kube.peers;
    // Who is ready has another opinion, or has not heard: it would lead it here again.
    const free = rank === 0 || (kube.kubeconfigsHeard && ready.every(isSelf));
    const back = action(object.directServer, false, 'the cluster is no longer proxied');
    return { state, leadsHere: true, problem: null, ...(free ? inTurn(rank, back) : NOT_NOW) };
  }

  // Sorted by instance: every instance that sees the same chooses the same.
  const place = ready.findIndex(isSelf);
  const isMarked = secret.markedServer === ours;
  const done = known !== undefined && known.server === ours && isMarked;
  // Whether one with our mark was changed since only its reader knows: with all of them reading, each change would be read by all.
  const isNeeded = place === 0 ? !done : kube.kubeconfigsHeard && !isMarked;
  const turn =
    place >= 0 && want === 'live' && isNeeded
      ? inTurn(place, action(ours, true, 'the cluster has a ready endpoint'))
      : NOT_NOW;
  return { state, leadsHere: marked, problem: null, ...turn };
}

function stateOf(
  known: { readonly server: string | null; readonly leftAlone: string | null } | undefined,
  ours: string,
  marked: boolean,
): PublicationStatus['kubeconfig'] {
  if (known === undefined) return marked ? 'proxied' : 'unread';
  if (known.leftAlone !== null) return 'left-alone';
  return known.server === ours ? 'proxied' : 'direct';
}
