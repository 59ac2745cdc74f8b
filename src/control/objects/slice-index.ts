// Indexes the slices of a namespace by owner and by published cluster. With a warm cache it processes only the slices that changed since
// the last call; the result is the same. Pure.
import { PersistentMap } from '../../kube/persistent-map.ts';
import { type CertificateRecord, recordIn } from './certificate-record.ts';
import { sliceName } from './instance-name.ts';
import { listenerLabels, listenerPublicationKey } from './listener-labels.ts';
import { NODE_LABEL, PROXIED_CLUSTER_LABEL, SERVER_CERTIFICATE_ANNOTATION } from './object-labels.ts';
import { ownershipOf } from './ownership.ts';
import type { EndpointSliceObject } from './published-objects.ts';
import { byText } from './text-order.ts';
import type { TurnCache } from './turn-cache.ts';

export interface OwnedSlice {
  readonly name: string;
  readonly cluster: string;
  /** `<namespace>/<name>` of the AdditionalListener; null for a slice of the cluster itself. */
  readonly listener: string | null;
  /** The key of its publication: see `publicationKey`. */
  readonly key: string;
  readonly instance: string;
  /** kube-proxy sends clients to it. */
  readonly ready: boolean;
  /** What its instance read from the certificate of the API server; null: unknown. */
  readonly certificate: CertificateRecord | null;
  readonly object: EndpointSliceObject;
}

export interface UpstreamSlice {
  readonly name: string;
  readonly cluster: string;
  readonly node: string;
  readonly object: EndpointSliceObject;
}

export interface SliceIndex {
  /** All slices. Foreign slices are included, because they occupy names. */
  readonly byName: ReadonlyMap<string, EndpointSliceObject>;
  /** Slices of all Isthmus instances by publication key. Each list is sorted by instance, then name. */
  readonly ours: ReadonlyMap<string, readonly OwnedSlice[]>;
  readonly upstream: ReadonlyMap<string, readonly UpstreamSlice[]>;
  /** The instances that have a slice. */
  readonly instances: ReadonlySet<string>;
}

interface CountedIndex extends SliceIndex {
  readonly byName: PersistentMap<EndpointSliceObject>;
  /** The number of slices of each instance. */
  readonly counts: ReadonlyMap<string, number>;
}

const newPrevious = (): { index: CountedIndex } => ({
  index: {
    byName: PersistentMap.empty(),
    ours: new Map(),
    upstream: new Map(),
    instances: new Set(),
    counts: new Map(),
  },
});

export function sliceIndex(slices: PersistentMap<EndpointSliceObject>, cache: TurnCache): SliceIndex {
  const previous = cache.part(newPrevious);
  if (previous.index.byName !== slices) previous.index = changedIndex(previous.index, slices, cache);
  return previous.index;
}

/** Unchanged lists keep their references. */
function changedIndex(
  before: CountedIndex,
  slices: PersistentMap<EndpointSliceObject>,
  cache: TurnCache,
): CountedIndex {
  const ours = new Changes(before.ours, ({ key }) => key);
  const upstream = new Changes(before.upstream, ({ cluster }) => cluster);
  const counts = new Map(before.counts);
  const count = (instance: string, by: number) => counts.set(instance, (counts.get(instance) ?? 0) + by);
  for (const [name, object] of slices.changesSince(before.byName)) {
    const known = before.byName.get(name);
    const gone = known === undefined ? null : cache.each(classifiedSlice, known, name);
    const slice = object === undefined ? null : cache.each(classifiedSlice, object, name);
    if (gone !== null && 'instance' in gone) {
      ours.remove(gone);
      count(gone.instance, -1);
    } else if (gone !== null) upstream.remove(gone);
    if (slice !== null && 'instance' in slice) {
      ours.add(slice);
      count(slice.instance, 1);
    } else if (slice !== null) upstream.add(slice);
  }
  for (const [instance, left] of counts) if (left === 0) counts.delete(instance);
  return {
    byName: slices,
    ours: ours.sorted((a, b) => byText(a.instance, b.instance) || byText(a.name, b.name)),
    upstream: upstream.sorted((a, b) => byText(a.name, b.name)),
    instances: new Set(counts.keys()),
    counts,
  };
}

/** Collects changes to lists that are kept by key. Only changed lists are copied. */
class Changes<T extends { readonly name: string }> {
  readonly #before: ReadonlyMap<string, readonly T[]>;
  readonly #keyOf: (item: T) => string;
  readonly #touched = new Map<string, T[]>();

  constructor(before: ReadonlyMap<string, readonly T[]>, keyOf: (item: T) => string) {
    this.#before = before;
    this.#keyOf = keyOf;
  }

  add(item: T): void {
    this.#list(this.#keyOf(item)).push(item);
  }

  remove(item: T): void {
    const list = this.#list(this.#keyOf(item));
    const place = list.findIndex(({ name }) => name === item.name);
    if (place >= 0) list.splice(place, 1);
  }

  sorted(order: (a: T, b: T) => number): ReadonlyMap<string, readonly T[]> {
    if (this.#touched.size === 0) return this.#before;
    const lists = new Map(this.#before);
    for (const [key, list] of this.#touched) {
      if (list.length === 0) lists.delete(key);
      else lists.set(key, list.sort(order));
    }
    return lists;
  }

  #list(key: string): T[] {
    let list = this.#touched.get(key);
    if (list === undefined) {
      list = [...(this.#before.get(key) ?? [])];
      this.#touched.set(key, list);
    }
    return list;
  }
}

/** The slice with its owner; null for a foreign slice. */
export function classifiedSlice(
  object: EndpointSliceObject,
  name: string,
): OwnedSlice | UpstreamSlice | null {
  const ownership = ownershipOf(object);
  if (ownership.kind === 'ours' && ownership.instance !== null) {
    const { cluster, instance } = ownership;
    const labels = listenerLabels(object.metadata);
    const service = labels?.service ?? cluster;
    // The name must match too: a copy under another name has the same tag but is not a slice of Isthmus.
    const isOurs = [false, true].some(
      (disambiguate) => sliceName(service, instance, { disambiguate }) === name,
    );
    if (!isOurs) return null;
    const key = labels === null ? cluster : listenerPublicationKey(cluster, service);
    const listener = labels?.listener ?? null;
    const certificate = recordIn(object.metadata?.annotations?.[SERVER_CERTIFICATE_ANNOTATION]);
    return { name, cluster, listener, key, instance, ready: isReady(object), certificate, object };
  }
  if (ownership.kind !== 'upstream') return null;
  const labels = object.metadata?.labels ?? {};
  return { name, cluster: labels[PROXIED_CLUSTER_LABEL] ?? '', node: labels[NODE_LABEL] ?? '', object };
}

export const isReady = ({ endpoints }: EndpointSliceObject): boolean =>
  // The API treats an absent condition as ready.
  (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);
