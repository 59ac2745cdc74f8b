// Plans the server and the `tls-server-name` of one cluster's kubeconfig. Instances rewrite it to the proxy only while one of them is ready. When the cluster
// is no longer proxied, they restore it before the Service is deleted. Instances write in turn, so two never overwrite each other.
// The next instance writes if the first does not. A Secret is read only after it changed. Pure.

import { kubeconfigName, type Publication } from '../desired/publication.ts';
import { isFirst, KUBECONFIG, rankAmong, turnAtMs } from '../instance/turn-order.ts';
import type { KubeconfigFinding, KubeconfigSecret, KubeconfigTarget } from '../objects/observed-objects.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { type ChosenTarget, chosenTarget } from './kubeconfig-target.ts';
import type { Action, PublicationStatus } from './plan.ts';

export interface KubeconfigPlan {
  readonly state: PublicationStatus['kubeconfig'];
  readonly action: Action | null;
  /** The kubeconfig still points to the proxy: the Service must stay. */
  readonly leadsHere: boolean;
  readonly problem: string | null;
  /** Since when lower ranks could have written the kubeconfig, and until when this instance waits for them; null: no wait. */
  readonly waiting: { readonly sinceMs: number; readonly untilMs: number } | null;
}

export interface KubeconfigQuestion {
  readonly publication: Publication;
  /** The slices of all instances. */
  readonly slices: readonly OwnedSlice[];
  readonly kube: KubeWorld;
  /** The namespace of the Services. */
  readonly namespace: string;
  /** Since when this instance has waited for instances of a lower rank, from the last plan. */
  readonly waitsSinceMs: number | null;
}

/** How long the first write waits for the names in the certificate. A handshake takes three seconds at most. */
const NAMES_WAIT_MS = 10_000;

const NOT_NOW = { action: null, waiting: null } as const;

export function kubeconfigPlan(question: KubeconfigQuestion): KubeconfigPlan {
  const { publication, kube, namespace } = question;
  const { want } = publication;
  const key = `${publication.namespace}/${kubeconfigName(publication.cluster)}`;
  const secret = kube.kubeconfigs?.get(key);
  if (secret === undefined) {
    const state = kube.kubeconfigs === null ? 'unread' : 'absent';
    return { state, ...unwatched(question, key), ...NOT_NOW };
  }
  const finding = kube.findings.get(key);
  const known = finding?.resourceVersion === secret.resourceVersion ? finding : undefined;
  const slices = readySlices(question);
  const chosen = chosenTarget({ publication, slices, instance: kube.self.instance, namespace, secret });
  const state = stateOf(known, chosen, secret.recordedServer !== null);
  // A field of another writer does not keep Isthmus from taking its own server back.
  const isRestorable = want === 'leaving' && known?.server != null;
  if (known !== undefined && known.skipReason !== null && !isRestorable) {
    const problem = `Secret ${key} is left alone: ${known.skipReason}`;
    return { state, leadsHere: false, problem, ...NOT_NOW };
  }
  if (want === 'leaving') return { state, ...restored(question, key, secret) };
  const leadsHere = secret.recordedServer !== null;
  if (chosen.kind === 'unverifiable' && want === 'live') {
    const what = leadsHere ? 'was written before, and no client can verify it' : 'is not written';
    return { state, leadsHere, problem: `Secret ${key} ${what}: ${chosen.reason}`, ...NOT_NOW };
  }
  const turn = want === 'live' ? rewritten(question, secret, known, chosen) : NOT_NOW;
  return { state, leadsHere, problem: null, ...turn };
}

type Turn = Pick<KubeconfigPlan, 'action' | 'waiting'>;
type Restored = Omit<KubeconfigPlan, 'state'>;

/** While Secrets are not watched, the Secret of a leaving cluster may still point to the proxy. */
function unwatched({ publication, kube }: KubeconfigQuestion, key: string) {
  const leadsHere = publication.want === 'leaving' && !kube.kubeconfigsWatched;
  const problem = `Secret ${key} cannot be watched, so the Service stays: the Secret may still point to it`;
  return { leadsHere, problem: leadsHere ? problem : null };
}

/** The cluster is no longer proxied: the kubeconfig gets its own server back. */
function restored(question: KubeconfigQuestion, key: string, secret: KubeconfigSecret): Restored {
  const { publication, kube } = question;
  const { recordedServer, recordedTlsName } = secret;
  // Without our annotations, the kubeconfig never pointed to the proxy, or another writer restored it. An older release restores only the
  // server, and leaves the annotation of the name.
  if (recordedServer === null && recordedTlsName === null) return { ...unwatched(question, key), ...NOT_NOW };
  const server = publication.object?.directServer ?? null;
  if (server === null) {
    const problem = `Secret ${key} still points to the proxy, and the cluster has no spec.controlPlaneEndpoint to restore`;
    return { leadsHere: false, problem, ...NOT_NOW };
  }
  // A peer with a ready slice still treats the cluster as proxied, and would rewrite the kubeconfig again.
  const isAlone = readyInstances(question).every((instance) => instance === kube.self.instance);
  const mayRestore = isFirst(kube.peers) || (kube.kubeconfigsWatched && isAlone);
  const restore = write(publication, {
    server,
    tlsServerName: null,
    annotate: false,
    why: 'the cluster is no longer proxied',
  });
  const turn = mayRestore ? inTurn(question, kube.peers.rank, restore) : NOT_NOW;
  return { leadsHere: true, problem: null, ...turn };
}

/** The cluster is live: the kubeconfig gets the server of the proxy. */
function rewritten(
  question: KubeconfigQuestion,
  { recordedServer, recordedTlsName }: KubeconfigSecret,
  known: KubeconfigFinding | undefined,
  { kind, target: ours }: ChosenTarget,
): Turn {
  const { publication, kube } = question;
  const ready = readyInstances(question);
  if (!ready.includes(kube.self.instance)) return NOT_NOW;
  const rank = rankAmong(kube.self.instance, ready);
  const isMarked = isTarget({ server: recordedServer, tlsServerName: recordedTlsName }, ours);
  const done = known !== undefined && isTarget(known, ours) && isMarked;
  // Only a read shows whether the server in an annotated Secret was changed. The first instance reads it. The others act only
  // if our annotation is missing. Otherwise every instance would read every change.
  const isNeeded = rank === 0 ? !done : kube.kubeconfigsWatched && !isMarked;
  if (!isNeeded) return NOT_NOW;
  const why = 'the cluster has a ready endpoint';
  const turn = inTurn(question, rank, write(publication, { ...ours, annotate: true, why }));
  return kind === 'unread' ? afterNames(question, turn) : turn;
}

/** The names in the certificate are still being read. */
function afterNames({ kube, waitsSinceMs }: KubeconfigQuestion, { action, waiting }: Turn): Turn {
  const sinceMs = waitsSinceMs ?? kube.nowMs;
  const untilMs = Math.max(sinceMs + NAMES_WAIT_MS, waiting?.untilMs ?? 0);
  return { action: kube.nowMs >= untilMs ? action : null, waiting: { sinceMs, untilMs } };
}

const isTarget = (
  found: Pick<KubeconfigFinding, 'server' | 'tlsServerName'>,
  ours: KubeconfigTarget,
): boolean => found.server === ours.server && found.tlsServerName === ours.tlsServerName;

/** The live instances with a ready slice. */
const readyInstances = (question: KubeconfigQuestion): string[] =>
  readySlices(question).map(({ instance }) => instance);

const readySlices = ({ slices, kube }: KubeconfigQuestion): OwnedSlice[] =>
  slices.filter(({ ready, instance }) => ready && kube.peers.live.has(instance));

type Write = Extract<Action, { readonly kind: 'kubeconfig' }>;

const write = (
  { cluster, namespace }: Publication,
  change: Pick<Write, 'server' | 'tlsServerName' | 'annotate' | 'why'>,
): Action => ({
  kind: 'kubeconfig',
  resource: 'secrets',
  namespace,
  name: kubeconfigName(cluster),
  cluster,
  ...change,
});

function inTurn({ kube, waitsSinceMs }: KubeconfigQuestion, rank: number, action: Action): Turn {
  if (rank === 0) return { action, waiting: null };
  const sinceMs = waitsSinceMs ?? kube.nowMs;
  const untilMs = turnAtMs(KUBECONFIG, rank, sinceMs);
  return { action: kube.nowMs >= untilMs ? action : null, waiting: { sinceMs, untilMs } };
}

function stateOf(
  known: KubeconfigFinding | undefined,
  { kind, target }: ChosenTarget,
  marked: boolean,
): PublicationStatus['kubeconfig'] {
  if (kind === 'unverifiable' && known?.skipReason == null) return 'unverifiable';
  if (known === undefined) return marked ? 'proxied' : 'unread';
  if (known.skipReason !== null) return 'left-alone';
  return isTarget(known, target) ? 'proxied' : 'direct';
}
