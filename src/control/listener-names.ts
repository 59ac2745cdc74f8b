// What the Service of each additional listener is called: `<cluster>-<pool>`, or with a hash where that is too long, somebody else's,
// or the name of a cluster. Every instance must choose alike, and a Service that is there keeps its name. Pure.
import { isClusterName } from './cluster-name.ts';
import { listenerMarks } from './listener-marks.ts';
import { NAME_HASH_DIGITS, nameHash } from './name-hash.ts';
import { ownershipOf } from './ownership.ts';
import type { KubeWorld } from './publish/kube-world.ts';
import { byText } from './text-order.ts';

export interface NamedListener {
  readonly key: string;
  readonly createdAtMs: number;
  readonly cluster: string;
  readonly poolName: string;
}

const MAX_NAME = 63;

/** By key of the listener. */
export function listenerNames(
  listeners: readonly NamedListener[],
  /** Of every cluster there is, proxied or not: their Services come first. */
  clusters: ReadonlySet<string>,
  kube: Pick<KubeWorld, 'services'> | null,
): ReadonlyMap<string, string> {
  const existing = existingNames(kube);
  const has = ({ key }: NamedListener, name: string) => existing.get(key)?.has(name) === true;
  const plainFirst = (each: NamedListener) => (has(each, plainName(each)) ? 0 : 1);
  const order = (a: NamedListener, b: NamedListener): number =>
    plainFirst(a) - plainFirst(b) || byNumber(a.createdAtMs, b.createdAtMs) || byText(a.key, b.key);
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const each of [...listeners].sort(order)) {
    const [plain, hashed] = [plainName(each), hashedName(each)];
    const isFree =
      isClusterName(plain) &&
      !clusters.has(plain) &&
      !taken.has(plain) &&
      // Whoever has that name already, it is not this listener.
      (has(each, plain) || !(kube?.services.has(plain) ?? false));
    const name = isFree && (has(each, plain) || !has(each, hashed)) ? plain : hashed;
    taken.add(name);
    names.set(each.key, name);
  }
  return names;
}

const plainName = ({ cluster, poolName }: NamedListener): string => `${cluster}-${poolName}`;

/** Of all that makes it this listener's, so that no two of a site are alike. */
export function hashedName({ key, cluster, poolName }: NamedListener): string {
  // An object may be named what no Service can be.
  const clean = `${cluster}-${poolName}`
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME - NAME_HASH_DIGITS - 1);
  return `${clean.replace(/-+$/, '')}-${nameHash(`${key}\n${cluster}\n${poolName}`)}`;
}

/** By listener: the names of the Services that are its own. */
function existingNames(kube: Pick<KubeWorld, 'services'> | null): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [name, service] of kube?.services ?? []) {
    const marks = listenerMarks(service.metadata);
    if (marks === null || marks.service !== name || ownershipOf(service).kind !== 'ours') continue;
    const names = found.get(marks.listener);
    if (names === undefined) found.set(marks.listener, new Set([name]));
    else names.add(name);
  }
  return found;
}

/** Infinity minus itself is NaN. */
const byNumber = (a: number, b: number): number => (a === b ? 0 : a - b);
