// The names of Services, and the server names derived from them. A cluster's Service has the name of the cluster. An additional listener's
// Service has one of two names: `<cluster>-<pool>`, or the same with a hash. name-claims.ts chooses between them together with all other
// names. Pure.
import { NAME_HASH_DIGITS, nameHash } from './instance-name.ts';

/** The Service of a cluster has the cluster's name, which must be a DNS-1035 label. Cluster API allows more (`a.b`, `1a`). */
export function isClusterName(text: string): boolean {
  return text.length <= 63 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(text);
}

/** The subject alternative names that clients use. The first one appears in kubeconfigs. */
export function serverNamesOf(cluster: string, namespace: string): readonly string[] {
  const qualified = `${cluster}.${namespace}`.toLowerCase();
  return [qualified, cluster, `${qualified}.svc`, `${qualified}.svc.cluster.local`];
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
