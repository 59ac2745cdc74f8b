// The Kubernetes objects that are watched, reduced to what is decided from: a thousand clusters on twenty instances are twenty
// thousand slices, and what each keeps of them counts.

import type { EndpointSliceObject, LeaseObject, ServiceObject } from './cluster-shape.ts';
import { APPLIED_TAGS } from './object-labels.ts';

/** On a kubeconfig that we changed: the server that we wrote. So it is given back even by an instance that never saw the change. */
export const KUBECONFIG_MARK = 'isthmus.dev/kubeconfig-server';

/** The metadata of a kubeconfig Secret: its content is read only when it has to be judged, and never kept. */
export interface KubeconfigSecret {
  readonly resourceVersion: string;
  /** The server that we last wrote into it, by our own annotation. */
  readonly markedServer: string | null;
}

interface AnyObject {
  readonly metadata: object;
  readonly [field: string]: unknown;
}

type Meta = NonNullable<ServiceObject['metadata']>;

function reducedMetadata(object: AnyObject): Meta {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, labels, annotations, ownerReferences } =
    object.metadata as Meta;
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations: withoutLargeOnes(annotations) }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
}

/** `kubectl apply` leaves the whole object in an annotation; nothing is decided from that. */
function withoutLargeOnes(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      ([key, value]) => typeof value === 'string' && (value.length <= 512 || key === APPLIED_TAGS),
    ),
  );
}

export function observedService(object: AnyObject): ServiceObject {
  const { selector, type, ports, clusterIP } = (object.spec ?? {}) as NonNullable<ServiceObject['spec']>;
  return {
    metadata: reducedMetadata(object),
    spec: {
      ...(selector === undefined ? {} : { selector }),
      ...(type === undefined ? {} : { type }),
      ...(clusterIP === undefined ? {} : { clusterIP }),
      ports: Array.isArray(ports) ? ports : [],
    },
  };
}

export function observedSlice(object: AnyObject): EndpointSliceObject {
  const { addressType, endpoints, ports } = object as unknown as EndpointSliceObject;
  return {
    metadata: reducedMetadata(object),
    addressType,
    endpoints: Array.isArray(endpoints) ? endpoints : [],
    ports: Array.isArray(ports) ? ports : [],
  };
}

export function observedLease(object: AnyObject): LeaseObject {
  const spec = (object.spec ?? {}) as NonNullable<LeaseObject['spec']>;
  return { metadata: reducedMetadata(object), spec };
}

export function observedSecret(object: AnyObject): KubeconfigSecret {
  const { resourceVersion = '', annotations = {} } = object.metadata as Meta;
  const mark = annotations[KUBECONFIG_MARK];
  return { resourceVersion, markedServer: typeof mark === 'string' ? mark : null };
}
