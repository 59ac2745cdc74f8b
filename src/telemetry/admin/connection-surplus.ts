// Chooses the connections that a full port evicts: repeatedly the oldest connection of the address that holds the most. An address
// with few connections keeps them, however many another address opens. Pure.
export interface Held {
  /** The client's source, from `sourceOf`. */
  readonly source: string;
  /** Counts against the limit: 1 per connection, or its bytes. */
  readonly weight: number;
}

interface SourceShare<T> {
  weight: number;
  /** Oldest first. */
  readonly held: T[];
  evicted: number;
}

/** The connections to evict until the total weight is within the limit. `held` is sorted by age, oldest first. */
export function surplus<T extends Held>(held: readonly T[], limit: number): readonly T[] {
  const shares = new Map<string, SourceShare<T>>();
  let total = 0;
  for (const each of held) {
    const share = shares.get(each.source) ?? { weight: 0, held: [], evicted: 0 };
    shares.set(each.source, share);
    share.weight += each.weight;
    share.held.push(each);
    total += each.weight;
  }
  const evicted: T[] = [];
  // The last connection is never evicted: a single answer may be larger than the limit.
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

/** Among equal shares the first one wins: its source had the oldest connection. */
function heaviest<T>(shares: Iterable<SourceShare<T>>): SourceShare<T> {
  let found: SourceShare<T> | null = null;
  for (const share of shares) {
    const isLeft = share.evicted < share.held.length;
    if (isLeft && (found === null || share.weight > found.weight)) found = share;
  }
  return found as SourceShare<T>;
}
