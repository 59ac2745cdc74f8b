// The slices of a namespace, sorted by whose they are and which cluster they publish. Pure; of slices that come as a SteadyMap only
// those are looked at that changed since the last time.
import { SteadyMap } from '../../kube/steady-map.ts';
import type { EndpointSliceObject } from './cluster-shape.ts';
import { sliceName } from './instance-name.ts';
import { listenerMarks, listenerPublicationKey } from './listener-marks.ts';
import { NODE_LABEL, PROXIED_CLUSTER_LABEL } from './object-labels.ts';
import { ownershipOf } from './ownership.ts';
import { byText } from './text-order.ts';

export interface OwnedSlice {
  readonly name: string;
  readonly cluster: string;
  /** `<namespace>/<name>` of the AdditionalListener that it is for; null: the cluster itself. */
  readonly listener: string | null;
  /** What it is published for: see `publicationKey`. */
  readonly key: string;
  readonly instance: string;
  /** Clients are sent there. */
  readonly ready: boolean;
  readonly object: EndpointSliceObject;
}

export interface UpstreamSlice {
  readonly name: string;
  readonly cluster: string;
  readonly node: string;
  readonly object: EndpointSliceObject;
}

export interface SliceIndex {
  /** Of any instance of ours, by key of the publication; each list sorted by instance, then name. */
  readonly ours: ReadonlyMap<string, readonly OwnedSlice[]>;
  readonly upstream: ReadonlyMap<string, readonly UpstreamSlice[]>;
  /** That have a slice. */
  readonly instances: ReadonlySet<string>;
}

/** The same map is the same slices: they are sorted once for all who ask in a turn, and for all turns in which none changed. */
const indexes = new WeakMap<ReadonlyMap<string, EndpointSliceObject>, CountedIndex>();

/** The last one that can say what changed since. Only a way to the same answer for less. */
let last: { readonly slices: SteadyMap<EndpointSliceObject>; readonly index: CountedIndex } | null = null;

interface CountedIndex extends SliceIndex {
  /** By instance: how many slices it has. */
  readonly counts: ReadonlyMap<string, number>;
}

const EMPTY: CountedIndex = {
  ours: new Map(),
  upstream: new Map(),
  instances: new Set(),
  counts: new Map(),
};

/** Whoever hands a map in changes it no more. */
export function sliceIndex(slices: ReadonlyMap<string, EndpointSliceObject>): SliceIndex {
  let index = indexes.get(slices);
  if (index !== undefined) return index;
  if (slices instanceof SteadyMap) {
    const before = last ?? { slices: SteadyMap.empty<EndpointSliceObject>(), index: EMPTY };
    index = changedIndex(before.index, before.slices, slices.changesSince(before.slices));
    last = { slices, index };
  } else index = changedIndex(EMPTY, new Map(), slices);
  indexes.set(slices, index);
  return index;
}

/** Lists that did not change are the same lists. */
function changedIndex(
  before: CountedIndex,
  slices: ReadonlyMap<string, EndpointSliceObject>,
  changes: Iterable<readonly [string, EndpointSliceObject | undefined]>,
): CountedIndex {
  const ours = new Changes(before.ours, ({ key }) => key);
  const upstream = new Changes(before.upstream, ({ cluster }) => cluster);
  const counts = new Map(before.counts);
  const count = (instance: string, by: number) => counts.set(instance, (counts.get(instance) ?? 0) + by);
  for (const [name, object] of changes) {
    const known = slices.get(name);
    const gone = known === undefined ? null : sliceOf(name, known);
    const slice = object === undefined ? null : sliceOf(name, object);
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
    ours: ours.sorted((a, b) => byText(a.instance, b.instance) || byText(a.name, b.name)),
    upstream: upstream.sorted((a, b) => byText(a.name, b.name)),
    instances: new Set(counts.keys()),
    counts,
  };
}

/** Of lists by key: only those that are touched are copied. */
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

/** An object that did not change is the same object: it is judged once, and not once a turn. */
const judged = new WeakMap<EndpointSliceObject, OwnedSlice | UpstreamSlice | null>();

/** Whose it is; null for a stranger's. */
export function sliceOf(name: string, object: EndpointSliceObject): OwnedSlice | UpstreamSlice | null {
  let slice = judged.get(object);
  if (slice === undefined || (slice !== null && slice.name !== name)) {
    slice = judgedSlice(name, object);
    judged.set(object, slice);
  }
  return slice;
}

function judgedSlice(name: string, object: EndpointSliceObject): OwnedSlice | UpstreamSlice | null {
  const ownership = ownershipOf(object);
  if (ownership.kind === 'ours' && ownership.instance !== null) {
    const { cluster, instance } = ownership;
    const marks = listenerMarks(object.metadata);
    const service = marks?.service ?? cluster;
    // The tag alone proves nothing: a copy under another name is its maker's.
    const isOurs = [false, true].some(
      (disambiguate) => sliceName(service, instance, { disambiguate }) === name,
    );
    if (!isOurs) return null;
    const key = marks === null ? cluster : listenerPublicationKey(cluster, service);
    const listener = marks?.listener ?? null;
    return { name, cluster, listener, key, instance, ready: isReady(object), object };
  }
  if (ownership.kind !== 'upstream') return null;
  const labels = object.metadata?.labels ?? {};
  return { name, cluster: labels[PROXIED_CLUSTER_LABEL] ?? '', node: labels[NODE_LABEL] ?? '', object };
}

export const isReady = ({ endpoints }: EndpointSliceObject): boolean =>
  // The API takes "not said" for ready.
  (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);
