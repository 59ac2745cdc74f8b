// The slices of a namespace, sorted once a turn by whose they are and which cluster they publish. Pure.
import type { EndpointSliceObject } from '../cluster-shape.ts';
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
}

export function sliceIndex(slices: ReadonlyMap<string, EndpointSliceObject>): SliceIndex {
  const ours = new Map<string, OwnedSlice[]>();
  const upstream = new Map<string, UpstreamSlice[]>();
  for (const [name, object] of slices) {
    const ownership = ownershipOf(object);
    if (ownership.kind === 'ours' && ownership.instance !== null) {
      const { cluster, instance } = ownership;
      add(ours, cluster, { name, cluster, instance, ready: isReady(object), object });
    } else if (ownership.kind === 'upstream') {
      const labels = object.metadata?.labels ?? {};
      const cluster = labels[PROXIED_CLUSTER_LABEL] ?? '';
      add(upstream, cluster, { name, cluster, node: labels[NODE_LABEL] ?? '', object });
    }
  }
  for (const list of ours.values())
    list.sort((a, b) => byText(a.instance, b.instance) || byText(a.name, b.name));
  for (const list of upstream.values()) list.sort((a, b) => byText(a.name, b.name));
  return { ours, upstream };
}

export const isReady = ({ endpoints }: EndpointSliceObject): boolean =>
  // The API takes "not said" for ready.
  (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
