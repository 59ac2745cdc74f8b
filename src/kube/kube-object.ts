// The common types of Kubernetes objects as they appear in JSON. client-node's types have `Date` where JSON has a string.

export interface KubeMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly KubeOwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface KubeOwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Only `metadata.name` is validated. Every other field is as the server sent it. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
  readonly [field: string]: unknown;
}

/** As the server sent it, not validated. Never `ERROR`: the client throws that as a KubeError. */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isKubeObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value.metadata) && isText(value.metadata.name);
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** `<namespace>/<name>`, or `<name>` for a cluster-scoped object. */
export function objectKey({ metadata }: KubeObject): string {
  return isText(metadata.namespace) ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** null if the server sent none, or not a string. */
export function resourceVersionOf(object: unknown): string | null {
  const metadata = isRecord(object) ? object.metadata : null;
  const version = isRecord(metadata) ? metadata.resourceVersion : null;
  return isText(version) ? version : null;
}

/**
 * Whether a resource version precedes another. All known API servers use comparable numbers. A version of any other form never
 * counts as older.
 */
export function isOlderVersion(version: string, than: string): boolean {
  if (!isNumbered(version) || !isNumbered(than)) return false;
  return BigInt(version) < BigInt(than);
}

/** True for every API server with etcd. A version that is not a number cannot be compared. */
export const isNumbered = (version: string): boolean => /^\d+$/.test(version);
