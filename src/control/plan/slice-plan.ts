// Plans this instance's slice of one publication. When no backend passes its checks, the slice is deleted at once. In a planned
// withdrawal it first becomes terminating, so that kube-proxy chooses other endpoints, and is deleted later. Pure.
//
// | situation (the first match counts)                                         | wanted slice |
// | no backend passes its checks, or the Service belongs to another owner      | absent       |
// | no address of this instance is known, and a check was done or the slice leaves | absent   |
// | not proxied any more, this instance drains, or its Node takes no part      | terminating  |
// | no check was done yet, or the Service does not exist yet                   | as it is     |
// | otherwise                                                                  | ready        |

import { type Publication, serviceNameOf } from '../desired/publication.ts';
import type { Self } from '../instance/instance-state.ts';
import { formatTimestamp, parseTimestamp } from '../instance/timestamp-liveness.ts';
import { recordText } from '../objects/certificate-record.ts';
import { sliceName } from '../objects/instance-name.ts';
import { metadataPatch } from '../objects/metadata-patch.ts';
import { SERVER_CERTIFICATE_ANNOTATION, TIMESTAMP_ANNOTATION } from '../objects/object-labels.ts';
import { type EndpointSliceObject, endpointSliceOf } from '../objects/published-objects.ts';
import type { Tags } from '../objects/resource-tags.ts';
import { isReady, type OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { foreignTagProblem, tagsOf } from './object-tags.ts';
import type { Action, PublicationStatus } from './plan.ts';
import { ownerOf, type ServicePlan, type ServiceSettings } from './service-plan.ts';

export interface SliceSettings extends ServiceSettings {
  /** How long a terminating slice stays before it is deleted: kube-proxy on every node must see it first. */
  readonly propagationWaitMs: number;
  /** The tags of this instance. */
  readonly tags: Tags;
}

export interface SlicePlan {
  readonly state: PublicationStatus['slice'];
  readonly actions: readonly Action[];
  /** The terminating slice, and since when; null: none. */
  readonly terminating: { readonly name: string; readonly sinceMs: number } | null;
  readonly lookAgainAtMs: number | null;
  readonly problem: string | null;
}

/** magnum-cluster-api-proxy treats a slice as dead after 30 s, so two of three writes may fail. */
const REFRESH_MS = 10_000;

/** The problem while this instance creates no new slice. An existing slice stays and is kept up to date. */
const LAPSED = 'not published: our Lease is not renewed, so the other instances would delete the slice again';

type SliceEndpoint = Extract<Self['endpoint'], { readonly address: string }>;

type Wanted =
  | { readonly kind: 'absent'; readonly why: string }
  | { readonly kind: 'as-it-is' }
  | { readonly kind: 'ready' | 'terminating'; readonly endpoint: SliceEndpoint };

export interface SliceQuestion {
  readonly publication: Publication;
  readonly serviceUsable: ServicePlan['usable'];
  /** The slices of this instance for this publication. */
  readonly own: readonly OwnedSlice[];
  readonly kube: KubeWorld;
  readonly settings: SliceSettings;
  readonly terminatingSince: ReadonlyMap<string, number>;
}

/** The part of a SlicePlan that depends on the wanted state. */
type Step = Partial<Omit<SlicePlan, 'state' | 'actions'>> & { readonly action?: Action };

export function slicePlan(question: SliceQuestion): SlicePlan {
  const { publication, serviceUsable, own, kube, settings } = question;
  const [found, ...extra] = own;
  const wanted = wantedState(publication.want, serviceUsable, kube.self);
  const step = found === undefined ? newSlice(question, wanted) : knownSlice(question, found, wanted);
  // A second slice exists if the plain name was in use when one slice was created and free when the other was.
  const actions = extra.map((slice) =>
    removal(slice, settings.namespace, 'this instance has a second slice'),
  );
  if (step.action !== undefined) actions.push(step.action);
  return {
    state: found === undefined ? 'absent' : stateOf(found),
    actions,
    terminating: step.terminating ?? null,
    lookAgainAtMs: step.lookAgainAtMs ?? null,
    problem: addressProblem(publication, kube.self) ?? step.problem ?? null,
  };
}

function wantedState(
  want: Publication['want'],
  serviceUsable: ServicePlan['usable'],
  { endpoint, draining, participation }: Self,
): Wanted {
  if (want === 'down') return { kind: 'absent', why: 'no backend passes its checks' };
  if (serviceUsable === 'never') return UNUSABLE;
  const isLeaving = want === 'leaving' || draining || !participation.takesPart;
  if ('reason' in endpoint) return want === 'undecided' && !isLeaving ? AS_IT_IS : UNUSABLE;
  if (isLeaving) return { kind: 'terminating', endpoint };
  return want === 'undecided' || serviceUsable === 'later' ? AS_IT_IS : { kind: 'ready', endpoint };
}

const UNUSABLE: Wanted = { kind: 'absent', why: 'no client can use it' };
const AS_IT_IS: Wanted = { kind: 'as-it-is' };

const stateOf = ({ object }: OwnedSlice): 'ready' | 'terminating' =>
  isReady(object) ? 'ready' : 'terminating';

const addressProblem = ({ want }: Publication, { endpoint }: Self): string | null =>
  want === 'live' && 'reason' in endpoint ? endpoint.reason : null;

/** No slice exists. */
function newSlice(question: SliceQuestion, wanted: Wanted): Step {
  if (wanted.kind !== 'ready') return {};
  const { publication, kube, settings } = question;
  if (kube.self.lapsed) return { problem: LAPSED };
  const object = wantedSlice(question, wanted.endpoint, null, false);
  const target = targetOf(object.metadata?.name as string, publication.cluster, settings);
  return { action: { kind: 'create', ...target, object, why: 'its backend passes its checks' } };
}

/** A slice exists. */
function knownSlice(question: SliceQuestion, found: OwnedSlice, wanted: Wanted): Step {
  if (found.object.metadata?.deletionTimestamp !== undefined || wanted.kind === 'as-it-is') return {};
  if (wanted.kind === 'absent') return { action: removal(found, question.settings.namespace, wanted.why) };
  if (wanted.kind === 'terminating' && stateOf(found) === 'terminating')
    return terminatingSlice(question, found);
  return changedSlice(question, found, wanted.endpoint, wanted.kind === 'terminating');
}

/** The slice is terminating. It is deleted after kube-proxy on every node has had time to see that. */
function terminatingSlice(question: SliceQuestion, found: OwnedSlice): Step {
  const { publication, kube, settings } = question;
  const terminating = terminatingOf(question, found);
  const deleteAtMs = terminating.sinceMs + settings.propagationWaitMs;
  if (kube.nowMs < deleteAtMs) return { terminating, lookAgainAtMs: deleteAtMs };
  return { terminating, action: removal(found, settings.namespace, whyLeaving(publication.want, kube)) };
}

/** The slice is changed to its wanted form, if it differs. */
function changedSlice(
  question: SliceQuestion,
  found: OwnedSlice,
  endpoint: SliceEndpoint,
  terminating: boolean,
): Step {
  const { publication, kube, settings } = question;
  const { name, cluster } = found;
  const object = wantedSlice(question, endpoint, found, terminating);
  // addressType is immutable: the next turn creates a new slice.
  if (found.object.addressType !== object.addressType)
    return { action: removal(found, settings.namespace, 'the IP family of our address changed') };
  const patch = slicePatch(found.object, object);
  const { metadata } = found.object;
  const resourceVersion = metadata?.resourceVersion ?? '';
  const why = terminating ? 'it is being withdrawn' : 'it differs from the desired slice';
  const isTimed = kube.peers.mode === 'timestamp' && publication.listener === undefined;
  return {
    ...(patch !== null && {
      action: { kind: 'patch', ...targetOf(name, cluster, settings), patch, resourceVersion, why },
    }),
    terminating: stateOf(found) === 'terminating' ? terminatingOf(question, found) : null,
    lookAgainAtMs: isTimed ? refreshAt(object, kube) : null,
    problem: foreignTagProblem(`EndpointSlice ${settings.namespace}/${name}`, metadata, object.metadata),
  };
}

const terminatingOf = ({ terminatingSince, kube }: SliceQuestion, { name }: OwnedSlice) => ({
  name,
  sinceMs: terminatingSince.get(name) ?? kube.nowMs,
});

const targetOf = (name: string, cluster: string, { namespace }: SliceSettings) =>
  ({ resource: 'endpointslices', namespace, name, cluster }) as const;

function whyLeaving(want: Publication['want'], { self: { draining, participation } }: KubeWorld): string {
  if (draining) return 'this instance is stopping';
  return want === 'leaving' ? 'no longer proxied' : participation.reason;
}

/** When to renew the timestamp (monotonic). It counts from the last renewal, so that turns in between do not delay it. */
function refreshAt(wanted: EndpointSliceObject, { nowMs, wallMs }: KubeWorld): number {
  const writtenMs = parseTimestamp(wanted.metadata?.annotations?.[TIMESTAMP_ANNOTATION] ?? '') ?? wallMs;
  return nowMs + Math.min(REFRESH_MS, Math.max(0, writtenMs + REFRESH_MS - wallMs));
}

type RemovableSlice = Pick<OwnedSlice, 'name' | 'cluster' | 'object'>;

export function removal({ name, cluster, object }: RemovableSlice, namespace: string, why: string): Action {
  const { uid = '', resourceVersion = '' } = object.metadata ?? {};
  return { kind: 'delete', resource: 'endpointslices', namespace, name, cluster, uid, resourceVersion, why };
}

function wantedSlice(
  { publication, kube, settings: { namespace, tags } }: SliceQuestion,
  endpoint: SliceEndpoint,
  found: OwnedSlice | null,
  terminating: boolean,
): EndpointSliceObject {
  const { cluster, namespace: clusterNamespace, object, listener } = publication;
  const { instance, nodeName } = kube.self;
  const plain = sliceName(serviceNameOf(publication), instance, { disambiguate: false });
  const { mode } = kube.peers;
  const written = found?.object.metadata?.annotations?.[TIMESTAMP_ANNOTATION] ?? null;
  return endpointSliceOf({
    cluster,
    namespace,
    owner: ownerOf(object, clusterNamespace),
    instance,
    // An existing slice keeps its name. A new slice gets the plain name if that is free.
    disambiguate: found === null ? kube.slices.byName.has(plain) : found.name !== plain,
    ...endpoint,
    port: portOf(publication, endpoint.port, found),
    nodeName,
    mode,
    timestamp: mode === 'timestamp' ? freshTimestamp(written, kube.wallMs) : null,
    terminating,
    tags: tagsOf(publication, found?.object.metadata, tags),
    ...certificateOf(publication, found),
    ...(listener && { listener }),
  });
}

/** While nothing was read, for example after a restart, the record of the last reading stays. */
function certificateOf({ certificate }: Publication, found: OwnedSlice | null): { certificate?: string } {
  if (typeof certificate === 'object') return { certificate: recordText(certificate) };
  const kept = found?.object.metadata?.annotations?.[SERVER_CERTIFICATE_ANNOTATION];
  return kept === undefined ? {} : { certificate: kept };
}

/** While the listen port is unknown, the published port stays. This happens only during a withdrawal. */
function portOf({ listener }: Publication, shared: number, found: OwnedSlice | null): number {
  if (listener === undefined || listener.listenPort === 'shared') return shared;
  return listener.listenPort ?? found?.object.ports?.[0]?.port ?? shared;
}

/**
 * Keeps the existing timestamp while it is fresh, to avoid a write. A timestamp in the future, after the clock was
 * set back, is stale too.
 */
function freshTimestamp(written: string | null, wallMs: number): string {
  const ms = written === null ? null : parseTimestamp(written);
  return written !== null && ms !== null && Math.abs(wallMs - ms) < REFRESH_MS
    ? written
    : formatTimestamp(wallMs);
}

function slicePatch(found: EndpointSliceObject, wanted: EndpointSliceObject): object | null {
  const metadata = metadataPatch(found.metadata, wanted.metadata);
  const endpoints = sameList(found.endpoints ?? [], wanted.endpoints ?? [], sameEndpoint);
  const ports = sameList(found.ports ?? [], wanted.ports ?? [], samePort);
  if (metadata === null && endpoints && ports) return null;
  return {
    ...(metadata === null ? {} : { metadata }),
    ...(endpoints ? {} : { endpoints: wanted.endpoints }),
    ...(ports ? {} : { ports: wanted.ports }),
  };
}

// Explicit comparisons: a turn compares a thousand slices, and a generic comparison takes longer than the rest of the turn.
type PublishedEndpoint = NonNullable<EndpointSliceObject['endpoints']>[number];
type Port = NonNullable<EndpointSliceObject['ports']>[number];

const sameEndpoint = (a: PublishedEndpoint, b: PublishedEndpoint): boolean =>
  a.conditions?.ready === b.conditions?.ready &&
  a.conditions?.serving === b.conditions?.serving &&
  a.conditions?.terminating === b.conditions?.terminating &&
  (a.nodeName ?? null) === (b.nodeName ?? null) &&
  sameList(a.addresses, b.addresses, (x, y) => x === y);

const samePort = (a: Port, b: Port): boolean =>
  a.name === b.name && a.port === b.port && a.protocol === b.protocol;

function sameList<T>(a: readonly T[], b: readonly T[], same: (x: T, y: T) => boolean): boolean {
  return a.length === b.length && a.every((x, i) => same(x, b[i] as T));
}
