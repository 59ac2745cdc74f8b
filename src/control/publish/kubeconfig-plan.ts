// Whether the kubeconfig of one cluster has to be read, and what its server should be. It leads to us only while somebody is
// ready, and back to the control plane endpoint before anything else of a cluster that is no longer proxied is taken away.
// One instance does it, so that two never fight, and a Secret is read only when it changed. Pure.
import type { KubeWorld } from './kube-world.ts';
import type { Action, PublicationStatus } from './plan.ts';
import { kubeconfigName, type Publication, proxiedServer } from './publication.ts';
import type { OwnedSlice } from './slice-index.ts';

export interface KubeconfigPlan {
  readonly state: PublicationStatus['kubeconfig'];
  readonly action: Action | null;
  /** A kubeconfig still leads to us: the Service must stay. */
  readonly leadsHere: boolean;
  readonly problem: string | null;
}

export function kubeconfigPlan(
  publication: Publication,
  /** Of all instances. */
  slices: readonly OwnedSlice[],
  kube: KubeWorld,
  namespace: string,
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
    return { state, action: null, leadsHere: unseen, problem: unseen ? waits : null };
  }

  const finding = kube.findings.get(key);
  const known = finding?.resourceVersion === secret.resourceVersion ? finding : undefined;
  const ours = proxiedServer(cluster, namespace);
  const marked = secret.markedServer !== null;
  const state = stateOf(known, ours, marked);
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
  const leftAlone = (problem: string | null) => ({ state, action: null, leadsHere: false, problem });
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
    const mine = kube.peers.rank === 0;
    const back = action(object.directServer, false, 'the cluster is no longer proxied');
    return { state, action: mine ? back : null, leadsHere: true, problem: null };
  }

  const done = known !== undefined && known.server === ours && secret.markedServer === ours;
  const ready = slices.filter((slice) => slice.ready && kube.peers.live.has(slice.instance));
  // Sorted by instance: every instance that sees the same chooses the same.
  const mine = ready[0]?.instance === kube.self.instance;
  const rewrite = !done && mine && want === 'live';
  return {
    state,
    action: rewrite ? action(ours, true, 'the cluster has a ready endpoint') : null,
    leadsHere: marked,
    problem: null,
  };
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
