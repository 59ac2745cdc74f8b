// What the Service of an additional listener may be called: `<cluster>-<pool>`, or the same with a hash. Which of the two it has is
// decided with all other names, in name-claims.ts. Pure.
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

/** Of all that makes it this listener's, so that no two of a site are alike. */
export function hashedName({
  key,
  cluster,
  poolName,
}: Pick<NamedListener, 'key' | 'cluster' | 'poolName'>): string {
  // An object may be named what no Service can be.
  const clean = `${cluster}-${poolName}`
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME - NAME_HASH_DIGITS - 1);
  return `${clean.replace(/-+$/, '')}-${nameHash(`${key}\n${cluster}\n${poolName}`)}`;
}
