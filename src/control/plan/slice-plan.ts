// Plans this instance's slice of one publication. When no backend passes its checks, the slice is deleted at once. On an orderly
// withdrawal it is first marked as terminating, so kube-proxy chooses other endpoints, and deleted later. Pure.

import { type Publication, type PublicationStatus, serviceNameOf } from '../desired/publication.ts';
import { formatTimestamp, parseTimestamp } from '../instance/timestamp-liveness.ts';
import { sliceName } from '../objects/instance-name.ts';
import { metadataPatch } from '../objects/metadata-patch.ts';
import { TIMESTAMP_ANNOTATION } from '../objects/object-labels.ts';
import { type EndpointSliceObject, endpointSliceOf } from '../objects/published-objects.ts';
import type { Tags } from '../objects/resource-tags.ts';
import { isReady, type OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from '../world/kube-world.ts';
import { foreignTagProblem, tagsOf } from './object-tags.ts';
import type { Action } from './plan.ts';
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

/** An existing slice stays and is kept up to date. No new slice is created, because peers would delete it again and again. */
const LAPSED = 'not published: our Lease is not renewed, so the other instances would take it away again';

type Wanted = 'ready' | 'terminating' | 'absent' | 'as-it-is';

export function slicePlan(
  publication: Publication,
  serviceUsable: ServicePlan['usable'],
  /** The slices of this instance for this publication. */
  own: readonly OwnedSlice[],
  kube: KubeWorld,
  settings: SliceSettings,
  terminatingSince: ReadonlyMap<string, number>,
): SlicePlan {
  const { cluster } = publication;
  const [found, ...extra] = own;
  // A second slice remains when the plain name was taken at one time and free at another.
  const actions: Action[] = extra.map((slice) => removal(slice, settings.namespace, 'there are two'));
  const { endpoint, draining, participation } = kube.self;
  const { want } = publication;
  const wanted: Wanted =
    serviceUsable === 'never' || want === 'down' || ('reason' in endpoint && want !== 'unjudged')
      ? 'absent'
      : want === 'leaving' || draining || !participation.takesPart
        ? 'terminating'
        : want === 'unjudged' || serviceUsable === 'later'
          ? 'as-it-is'
          : 'ready';
  const problem = publication.want === 'live' && 'reason' in endpoint ? endpoint.reason : null;
  const nothing = { terminating: null, lookAgainAtMs: null, problem };

  if (found === undefined) {
    if (wanted === 'ready' && kube.self.lapsed)
      return { ...nothing, state: 'absent', actions, problem: LAPSED };
    if (wanted !== 'ready' || 'reason' in endpoint) return { ...nothing, state: 'absent', actions };
    const object = wantedSlice(publication, endpoint, null, false, kube, settings);
    const name = object.metadata?.name as string;
    const target = { resource: 'endpointslices', namespace: settings.namespace, name, cluster } as const;
    actions.push({ kind: 'create', ...target, object, why: 'its backend passes its checks' });
    return { ...nothing, state: 'absent', actions };
  }

  const state = isReady(found.object) ? 'ready' : 'terminating';
  if (found.object.metadata?.deletionTimestamp !== undefined || wanted === 'as-it-is')
    return { ...nothing, state, actions };
  if (wanted === 'absent' || 'reason' in endpoint) {
    const why = publication.want === 'down' ? 'no backend passes its checks' : 'it cannot be used';
    actions.push(removal(found, settings.namespace, why));
    return { ...nothing, state, actions };
  }
  const since = terminatingSince.get(found.name) ?? kube.nowMs;
  const terminating = state === 'terminating' ? { name: found.name, sinceMs: since } : null;
  if (wanted === 'terminating' && terminating !== null) {
    const goesAtMs = since + settings.propagationWaitMs;
    if (kube.nowMs >= goesAtMs) {
      actions.push(removal(found, settings.namespace, whyLeaving(want, kube)));
      return { ...nothing, terminating, state, actions };
    }
    return { ...nothing, terminating, state, actions, lookAgainAtMs: goesAtMs };
  }

  const object = wantedSlice(publication, endpoint, found, wanted === 'terminating', kube, settings);
  if (found.object.addressType !== object.addressType) {
    // addressType is immutable: the next turn creates a new slice.
    actions.push(removal(found, settings.namespace, 'our address is of another family now'));
    return { ...nothing, state, actions };
  }
  const patch = slicePatch(found.object, object);
  if (patch !== null) {
    const { name, cluster } = found;
    const target = { resource: 'endpointslices', namespace: settings.namespace, name, cluster } as const;
    const resourceVersion = found.object.metadata?.resourceVersion ?? '';
    const why = wanted === 'terminating' ? 'it is to be withdrawn' : 'it is not as it should be';
    actions.push({ kind: 'patch', ...target, patch, resourceVersion, why });
  }
  const refreshAtMs =
    kube.peers.mode === 'timestamp' && publication.listener === undefined ? refreshAt(object, kube) : null;
  const { metadata } = found.object;
  const foreignTag = foreignTagProblem(
    `EndpointSlice ${settings.namespace}/${found.name}`,
    metadata,
    object.metadata,
  );
  return { terminating, state, actions, lookAgainAtMs: refreshAtMs, problem: problem ?? foreignTag };
}

function whyLeaving(want: Publication['want'], { self: { draining, participation } }: KubeWorld): string {
  if (draining) return 'we are stopping';
  return want === 'leaving' ? 'no longer proxied' : participation.reason;
}

/** When to renew the time stamp (monotonic). Turns in between must not delay it. */
function refreshAt(wanted: EndpointSliceObject, { nowMs, wallMs }: KubeWorld): number {
  const writtenMs = parseTimestamp(wanted.metadata?.annotations?.[TIMESTAMP_ANNOTATION] ?? '') ?? wallMs;
  return nowMs + Math.min(REFRESH_MS, Math.max(0, writtenMs + REFRESH_MS - wallMs));
}

export function removal({ name, cluster, object }: OwnedSlice, namespace: string, why: string): Action {
  const { uid = '', resourceVersion = '' } = object.metadata ?? {};
  return { kind: 'delete', resource: 'endpointslices', namespace, name, cluster, uid, resourceVersion, why };
}

function wantedSlice(
  publication: Publication,
  endpoint: { readonly address: string; readonly family: 'IPv4' | 'IPv6'; readonly port: number },
  found: OwnedSlice | null,
  terminating: boolean,
  kube: KubeWorld,
  { namespace, tags }: SliceSettings,
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
    ...(listener && { listener }),
  });
}

/** While the listen port is unknown, the published port stays. This happens only during a withdrawal. */
function portOf({ listener }: Publication, shared: number, found: OwnedSlice | null): number {
  if (listener === undefined || listener.listenPort === 'shared') return shared;
  return listener.listenPort ?? found?.object.ports?.[0]?.port ?? shared;
}

/** Keeps the written time stamp while it is fresh, to avoid a write. A clock that was set back makes it stale too. */
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
type Endpoint = NonNullable<EndpointSliceObject['endpoints']>[number];
type Port = NonNullable<EndpointSliceObject['ports']>[number];

const sameEndpoint = (a: Endpoint, b: Endpoint): boolean =>
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
