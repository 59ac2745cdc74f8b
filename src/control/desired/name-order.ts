// The order of several claimants for a name that no Service records. All instances must decide the same, and a new object must not take
// a name from an existing one. If all claimants were rejected, any new object could cut off a cluster. If the order were by key alone,
// a new object with a smaller key could take the name. Pure.
//
// | first              | because                                                                               |
// | in --namespace     | no tenant can write there; a listener counts only with its cluster                    |
// | a valid object     | a cluster that was never valid, or a listener without a cluster, cannot use the name  |
// | the older object   | the API server sets the creation time                                                 |
// | a cluster          | a listener can use another name                                                       |
// | the smaller key    | an arbitrary order, but the same on all instances                                     |

import type { NamedListener } from '../objects/service-names.ts';
import { byText } from '../objects/text-order.ts';
import { createdAtOf, keyOf, nameOf, namespaceOf, originOf } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';

/** An object that claims a name. */
export interface Claimant {
  readonly kind: 'cluster' | 'listener';
  /** `<namespace>/<name>` of the object. */
  readonly key: string;
  readonly namespace: string;
  /** The origin of the object; null for a listener, and for an object that is currently unreadable. */
  readonly origin: string | null;
  readonly createdAtMs: number;
  readonly isUnproven: boolean;
}

export function clusterClaimant(
  reading: ClusterReading,
  lastKnown: ReadonlyMap<string, ClusterFacts>,
): Claimant {
  const key = keyOf(reading);
  return {
    kind: 'cluster',
    key,
    namespace: namespaceOf(reading),
    origin: originOf(reading),
    createdAtMs: createdAtOf(reading),
    isUnproven: reading.kind === 'invalid' && !isProven(reading, lastKnown),
  };
}

/**
 * True if the cluster has valid facts, or had them earlier under the same name. A cluster with a temporary error must not lose its name.
 */
export const isProven = (reading: ClusterReading, lastKnown: ReadonlyMap<string, ClusterFacts>): boolean =>
  reading.kind === 'proxied' || lastKnown.get(keyOf(reading))?.name === nameOf(reading);

export const listenerClaimant = (
  { key, createdAtMs }: Pick<NamedListener, 'key' | 'createdAtMs'>,
  isUnproven: boolean,
): Claimant => ({
  kind: 'listener',
  key,
  namespace: namespaceOfKey(key),
  origin: null,
  createdAtMs,
  isUnproven,
});

export const claimantText = ({ kind, key, origin }: Claimant): string => {
  if (kind === 'listener') return `AdditionalListener ${key}`;
  return origin === null ? key : `${key} (${origin})`;
};

export const namespaceOfKey = (key: string): string => key.slice(0, Math.max(0, key.indexOf('/')));

/** The criteria in order, each with the text that explains the winner. */
const CRITERIA: readonly {
  readonly compare: (a: Claimant, b: Claimant, ownNamespace: string) => number;
  readonly why: (ownNamespace: string) => string;
}[] = [
  {
    compare: (a, b, own) => Number(!isAtHome(a, own)) - Number(!isAtHome(b, own)),
    why: (own) => `is in namespace ${own}`,
  },
  { compare: (a, b) => Number(a.isUnproven) - Number(b.isUnproven), why: () => 'is valid' },
  { compare: (a, b) => byNumber(a.createdAtMs, b.createdAtMs), why: () => 'is older' },
  {
    compare: (a, b) => Number(a.kind === 'listener') - Number(b.kind === 'listener'),
    why: () => 'is a cluster',
  },
  { compare: (a, b) => byText(a.key, b.key), why: () => 'comes first by name' },
];

/** An invalid cluster keeps its name for the time when it is corrected: until then, no tenant may take the name. */
const isAtHome = ({ kind, namespace, isUnproven }: Claimant, ownNamespace: string): boolean =>
  namespace === ownNamespace && (kind === 'cluster' || !isUnproven);

export function byClaim(a: Claimant, b: Claimant, ownNamespace: string): number {
  for (const { compare } of CRITERIA) {
    const order = compare(a, b, ownNamespace);
    if (order !== 0) return order;
  }
  return 0;
}

/** The first criterion that separates the two claimants, as text. */
export function whyFirst(first: Claimant, other: Claimant, ownNamespace: string): string {
  const decisive = CRITERIA.find(({ compare }) => compare(first, other, ownNamespace) !== 0);
  return decisive?.why(ownNamespace) ?? 'comes first';
}

/** An unknown creation time is Infinity, and Infinity - Infinity is NaN. */
const byNumber = (a: number, b: number): number => (a === b ? 0 : a - b);
