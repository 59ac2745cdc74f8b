// The two possible names of an additional listener's Service: `<cluster>-<pool>`, and the same with a hash. name-claims.ts chooses
// between them together with all other names. Pure.
import { NAME_HASH_DIGITS, nameHash } from './instance-name.ts';

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
