// Reduces watched Kubernetes objects to the fields that decisions need. A thousand clusters on twenty instances have twenty
// thousand slices, so every kept field costs memory.

import { APPLIED_TAGS } from './object-labels.ts';
import type { EndpointSliceObject, LeaseObject, ServiceObject } from './published-objects.ts';

/** On a kubeconfig that Isthmus changed: the server that it wrote. With this annotation, any instance can restore the kubeconfig. */
export const KUBECONFIG_SERVER_ANNOTATION = 'isthmus.dev/kubeconfig-server';

/** The metadata of a kubeconfig Secret. The content is read only for a check, and is never kept. */
export interface KubeconfigSecret {
  readonly resourceVersion: string;
  /** The server that Isthmus last wrote, from its annotation. */
  readonly recordedServer: string | null;
}

/** What a kubeconfig contained at one resourceVersion. The server is not a secret; nothing else of the kubeconfig is kept. */
export interface KubeconfigFinding {
  readonly resourceVersion: string;
  readonly server: string | null;
  /** Why this instance does not change the kubeconfig; null if it may. */
  readonly skipReason: string | null;
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
    ...(annotations === undefined ? {} : { annotations: withoutLargeValues(annotations) }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
}

/** `kubectl apply` stores the whole object in an annotation, which no decision needs. */
function withoutLargeValues(annotations: Record<string, string>): Record<string, string> {
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
  const server = annotations[KUBECONFIG_SERVER_ANNOTATION];
  return { resourceVersion, recordedServer: typeof server === 'string' ? server : null };
}
