// The shapes every Kubernetes object shares, as they come over the wire: client-node's types say `Date` where JSON has text.

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

/** Only `metadata.name` was checked; the rest is whatever the server sent. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
  readonly [field: string]: unknown;
}

/** As it was sent: neither type nor object were looked at. `ERROR` never gets here, it is thrown. */
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

/** `<namespace>/<name>`, or `<name>` where there is no namespace. */
export function objectKey({ metadata }: KubeObject): string {
  return isText(metadata.namespace) ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** null where the server sent none, or no text. */
export function resourceVersionOf(object: unknown): string | null {
  const metadata = isRecord(object) ? object.metadata : null;
  const version = isRecord(metadata) ? metadata.resourceVersion : null;
  return isText(version) ? version : null;
}

/** Whether a resource version comes before another. They are numbers to compare in every API server there is; others are never older. */
export function isOlderVersion(version: string, than: string): boolean {
  if (!isNumbered(version) || !isNumbered(than)) return false;
  return BigInt(version) < BigInt(than);
}

/** As every API server with etcd behind it does; what is no number cannot be compared. */
export const isNumbered = (version: string): boolean => /^\d+$/.test(version);
