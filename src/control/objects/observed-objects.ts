// Reduces watched Kubernetes objects to the fields that decisions need. A thousand clusters on twenty instances have twenty
// thousand slices, so every kept field costs memory.

import { MAX_RECORD_TEXT } from './certificate-record.ts';
import { APPLIED_TAGS, SERVER_CERTIFICATE_ANNOTATION } from './object-labels.ts';
import type { EndpointSliceObject, LeaseObject, ServiceObject } from './published-objects.ts';

/** On a kubeconfig that Isthmus changed: the server that it wrote. With this annotation, any instance can restore the kubeconfig. */
export const KUBECONFIG_SERVER_ANNOTATION = 'isthmus.dev/kubeconfig-server';
/**
 * The `tls-server-name` that Isthmus wrote beside that server; absent if it wrote none. It has its own annotation: an older release compares
 * the other one with the server, and would change a value with both.
 */
export const KUBECONFIG_TLS_NAME_ANNOTATION = 'isthmus.dev/kubeconfig-tls-server-name';

/** The address at which a client finds the API server, and the name that it expects in the certificate. */
export interface KubeconfigTarget {
  readonly server: string;
  /** null: the client expects the host of the server. */
  readonly tlsServerName: string | null;
}

/** The metadata of a kubeconfig Secret. The content is read only for a check, and is never kept. */
export interface KubeconfigSecret {
  readonly resourceVersion: string;
  /** The server that Isthmus last wrote, from its annotation. */
  readonly recordedServer: string | null;
  /** The same for the `tls-server-name`. */
  readonly recordedTlsName: string | null;
}

/** What a kubeconfig contained at one resourceVersion. These two fields are not secret; nothing else of the kubeconfig is kept. */
export interface KubeconfigFinding {
  readonly resourceVersion: string;
  readonly server: string | null;
  readonly tlsServerName: string | null;
  /** Why this instance does not change the kubeconfig; null if it may. Beside a server: a field of another writer, so it may be restored. */
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
      ([key, value]) => typeof value === 'string' && value.length <= longestOf(key),
    ),
  );
}

function longestOf(key: string): number {
  if (key === APPLIED_TAGS) return Number.POSITIVE_INFINITY;
  return key === SERVER_CERTIFICATE_ANNOTATION ? MAX_RECORD_TEXT : 512;
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
  const text = (key: string): string | null =>
    typeof annotations[key] === 'string' ? annotations[key] : null;
  return {
    resourceVersion,
    recordedServer: text(KUBECONFIG_SERVER_ANNOTATION),
    recordedTlsName: text(KUBECONFIG_TLS_NAME_ANNOTATION),
  };
}
