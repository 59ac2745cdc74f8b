// Chooses which connections of a full port are evicted: the oldest of the address that holds most, again and again. An address that
// holds few keeps them, however many another one opens. Pure.
export interface Held {
  /** Where it comes from, as `sourceOf` says. */
  readonly source: string;
  /** What counts against the limit: 1 for a connection, or its bytes. */
  readonly weight: number;
}

interface Share<T> {
  weight: number;
  /** The oldest first. */
  readonly held: T[];
  evicted: number;
}

/** Those that have to go so that the weight of the rest is within the limit; `held` is sorted by age, the oldest first. */
export function surplus<T extends Held>(held: readonly T[], limit: number): readonly T[] {
  const shares = new Map<string, Share<T>>();
  let total = 0;
  for (const each of held) {
    const share = shares.get(each.source) ?? { weight: 0, held: [], evicted: 0 };
    shares.set(each.source, share);
    share.weight += each.weight;
    share.held.push(each);
    total += each.weight;
  }
  const evicted: T[] = [];
  // The last one stays: a single answer may be larger than the limit.
  while (total > limit && evicted.length < held.length - 1) {
    const share = heaviest(shares.values());
    const oldest = share.held[share.evicted] as T;
    share.evicted += 1;
    share.weight -= oldest.weight;
    total -= oldest.weight;
    evicted.push(oldest);
  }
  return evicted;
}

/** Of several equal ones the first, which has the oldest connection. */
function heaviest<T>(shares: Iterable<Share<T>>): Share<T> {
  let found: Share<T> | null = null;
  for (const share of shares) {
    const isLeft = share.evicted < share.held.length;
    if (isLeft && (found === null || share.weight > found.weight)) found = share;
  }
  return found as Share<T>;
}
