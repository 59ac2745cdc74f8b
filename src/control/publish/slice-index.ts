// The slices of a namespace, sorted once a turn by whose they are and which cluster they publish. Pure.
import type { EndpointSliceObject } from '../cluster-shape.ts';
import { sliceName } from '../instance-name.ts';
import { NODE_LABEL, PROXIED_CLUSTER_LABEL } from '../object-labels.ts';
import { ownershipOf } from '../ownership.ts';
import { byText } from '../text-order.ts';

export interface OwnedSlice {
  readonly name: string;
  readonly cluster: string;
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
  /** Of any instance of ours, by cluster; each list sorted by instance, then name. */
  readonly ours: ReadonlyMap<string, readonly OwnedSlice[]>;
  readonly upstream: ReadonlyMap<string, readonly UpstreamSlice[]>;
  /** That have a slice. */
  readonly instances: ReadonlySet<string>;
}

/** The same map is the same slices: they are sorted once for all who ask in a turn, and for all turns in which none changed. */
const indexes = new WeakMap<ReadonlyMap<string, EndpointSliceObject>, SliceIndex>();

/** Whoever hands a map in changes it no more. */
export function sliceIndex(slices: ReadonlyMap<string, EndpointSliceObject>): SliceIndex {
  let index = indexes.get(slices);
  if (index === undefined) {
    index = newIndex(slices);
    indexes.set(slices, index);
  }
  return index;
}

function newIndex(slices: ReadonlyMap<string, EndpointSliceObject>): SliceIndex {
  const instances = new Set<string>();
  const ours = new Map<string, OwnedSlice[]>();
  const upstream = new Map<string, UpstreamSlice[]>();
  for (const [name, object] of slices) {
    const slice = sliceOf(name, object);
    if (slice === null) continue;
    if ('instance' in slice) {
      add(ours, slice.cluster, slice);
      instances.add(slice.instance);
    } else add(upstream, slice.cluster, slice);
  }
  for (const list of ours.values())
    list.sort((a, b) => byText(a.instance, b.instance) || byText(a.name, b.name));
  for (const list of upstream.values()) list.sort((a, b) => byText(a.name, b.name));
  return { ours, upstream, instances };
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
    // The tag alone proves nothing: a copy under another name is its maker's.
    const isOurs = [false, true].some(
      (disambiguate) => sliceName(cluster, instance, { disambiguate }) === name,
    );
    return isOurs ? { name, cluster, instance, ready: isReady(object), object } : null;
  }
  if (ownership.kind !== 'upstream') return null;
  const labels = object.metadata?.labels ?? {};
  return { name, cluster: labels[PROXIED_CLUSTER_LABEL] ?? '', node: labels[NODE_LABEL] ?? '', object };
}

export const isReady = ({ endpoints }: EndpointSliceObject): boolean =>
  // The API takes "not said" for ready.
  (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
