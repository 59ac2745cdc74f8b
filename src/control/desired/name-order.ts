// Which of several objects comes first for a name that no Service records. Every instance must decide alike, and no object may take a
// name over merely by being created: refusing all claimants would let any of them cut a cluster off, and the order of keys alone would
// give it to the one that sorts first. Pure.
//
// | first is            | because                                                                            |
// | the one that works  | a cluster that was never valid, or a listener without a cluster, has no use for it |
// | in --namespace      | only the operator's own services write there                                       |
// | the older           | the API server sets the age                                                        |
// | a cluster           | a listener can have another name                                                   |
// | by key              | any order, but the same everywhere                                                 |

import type { NamedListener } from '../objects/listener-names.ts';
import { byText } from '../objects/text-order.ts';
import { createdAtOf, keyOf, nameOf, namespaceOf, originOf } from '../sources/cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from '../sources/cluster-source.ts';

/** An object that asks for a name. */
export interface Claimant {
  readonly kind: 'cluster' | 'listener';
  /** `<namespace>/<name>` of the object. */
  readonly key: string;
  readonly namespace: string;
  /** Where it was read; null for a listener, and for an object that cannot be read now. */
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

/** Its facts are known, or were, under the name that it asks for. One that lacks them now must not lose its name for it. */
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

/** Why the one that comes first does; the criteria in their order. */
const CRITERIA: readonly {
  readonly compare: (a: Claimant, b: Claimant, ownNamespace: string) => number;
  readonly why: (ownNamespace: string) => string;
}[] = [
  { compare: (a, b) => Number(a.isUnproven) - Number(b.isUnproven), why: () => 'is valid' },
  {
    compare: (a, b, own) => Number(a.namespace !== own) - Number(b.namespace !== own),
    why: (own) => `is in namespace ${own}`,
  },
  { compare: (a, b) => byNumber(a.createdAtMs, b.createdAtMs), why: () => 'is older' },
  {
    compare: (a, b) => Number(a.kind === 'listener') - Number(b.kind === 'listener'),
    why: () => 'is a cluster',
  },
  { compare: (a, b) => byText(a.key, b.key), why: () => 'comes first by name' },
];

export function byClaim(a: Claimant, b: Claimant, ownNamespace: string): number {
  for (const { compare } of CRITERIA) {
    const order = compare(a, b, ownNamespace);
    if (order !== 0) return order;
  }
  return 0;
}

/** What the first of two has that the other lacks. */
export function whyFirst(first: Claimant, other: Claimant, ownNamespace: string): string {
  const decisive = CRITERIA.find(({ compare }) => compare(first, other, ownNamespace) !== 0);
  return decisive?.why(ownNamespace) ?? 'comes first';
}

/** Infinity minus itself is NaN. */
const byNumber = (a: number, b: number): number => (a === b ? 0 : a - b);
