// The names of Services, and the server names derived from them. A cluster's Service has the name of the cluster. An additional listener's
// Service has one of two names: `<cluster>-<pool>`, or the same with a hash. name-claims.ts chooses between them together with all other
// names. Pure.
import { NAME_HASH_DIGITS, nameHash } from './instance-name.ts';

/** The Service of a cluster has the cluster's name, which must be a DNS-1035 label. Cluster API allows more (`a.b`, `1a`). */
export function isClusterName(text: string): boolean {
  return text.length <= 63 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(text);
}

export const qualifiedName = (name: string, namespace: string): string =>
  `${name}.${namespace}`.toLowerCase();

/** The server names of a Service. The first one appears in kubeconfigs. */
export function serverNamesOf(service: string, namespace: string): readonly string[] {
  const [qualified, ...longer] = qualifiedNames(service, namespace);
  return [qualified, service, ...longer];
}

/**
 * The names of a cluster that holds its name: those of its Service, which is in `namespace`, and those of its own namespace, which the
 * certificate contains.
 */
export function clusterServerNames(cluster: string, namespace: string, own: string): readonly string[] {
  return [...serverNamesOf(cluster, namespace), ...ownServerNames(cluster, namespace, own)];
}

/**
 * The names that no other namespace can derive. Empty in the namespace of the Services, where they belong to the holder of the name, and for
 * a namespace from a file that is not a valid name.
 */
export function ownServerNames(cluster: string, namespace: string, own: string): readonly string[] {
  const isUsable = own !== namespace && own.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(own);
  return isUsable ? qualifiedNames(cluster, own) : [];
}

/** The names that belong to one namespace. Two clusters of one name in different namespaces have no such name in common. */
function qualifiedNames(name: string, namespace: string): readonly [string, ...string[]] {
  const qualified = qualifiedName(name, namespace);
  return [qualified, `${qualified}.svc`, `${qualified}.svc.cluster.local`];
}

export interface NamedListener {
  /** `<namespace>/<name>` */
  readonly key: string;
  readonly createdAtMs: number;
  readonly cluster: string;
  readonly poolName: string;
}

const MAX_NAME = 63;

export const plainName = ({ cluster, poolName }: Pick<NamedListener, 'cluster' | 'poolName'>): string =>
  `${cluster}-${poolName}`;

/** The hash covers everything that identifies the listener, so two listeners never share a name. */
export function hashedName({
  key,
  cluster,
  poolName,
}: Pick<NamedListener, 'key' | 'cluster' | 'poolName'>): string {
  // The name of an object may contain characters that are invalid in a Service name.
  const clean = `${cluster}-${poolName}`
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME - NAME_HASH_DIGITS - 1);
  return `${clean.replace(/-+$/, '')}-${nameHash(`${key}\n${cluster}\n${poolName}`)}`;
}
