// Most clusters gone at once is more often a mistake (an empty answer, a wrong namespace, a restore under way) than the truth.
// Until it has lasted they count as still there, and the world as incomplete, so that neither routes nor objects go. Pure.
import { keyOf, objectOf, originOf } from '../sources/cluster-reading.ts';
import type { ClusterReading, SourceSnapshot } from '../sources/cluster-source.ts';
import { MASS_DELETE, massDelete } from './mass-delete-breaker.ts';

export interface Seen {
  readonly source: SourceSnapshot;
  /**
   * What the last turn knew and had a use for; null at the first one, and where clusters come from files: who empties a
   * directory means it.
   */
  readonly before: readonly ClusterReading[] | null;
  /** Since when most of them have been missing (monotonic); null: they are not. */
  readonly sinceMs: number | null;
  /** By key: what the turns before took for gone a moment ago, as the last answer gave it. */
  readonly recent: ReadonlyMap<string, Gone>;
  readonly nowMs: number;
  readonly allow: boolean;
}

export interface Gone {
  readonly reading: ClusterReading;
  readonly atMs: number;
}

export interface Vanishing {
  readonly source: SourceSnapshot;
  readonly vanishedSinceMs: number | null;
  readonly recent: ReadonlyMap<string, Gone>;
}

/** A watch tells of deletions one by one, and turns come in between: what goes within this time goes together. */
const TOGETHER_MS = 10_000;

export function withoutMassVanishing({ source, before, sinceMs, recent, nowMs, allow }: Seen): Vanishing {
  if (before === null) return { source, vanishedSinceMs: null, recent: new Map() };
  if (!source.complete) return { source, vanishedSinceMs: sinceMs, recent };
  const present = new Set(source.clusters.map(keyOf));
  const missing = new Map<string, Gone>();
  for (const [key, gone] of recent)
    if (!present.has(key) && nowMs - gone.atMs < TOGETHER_MS) missing.set(key, gone);
  const ours = before.length + missing.size;
  for (const reading of before) {
    const key = keyOf(reading);
    if (!present.has(key)) missing.set(key, { reading, atMs: nowMs });
  }
  const breaker = massDelete({ ours, wouldGo: missing.size, sinceMs, nowMs, allow });
  if (!breaker.trip) return { source, vanishedSinceMs: breaker.sinceMs, recent: missing };
  const kept = [...missing.values()].map(({ reading }) => withoutOwner(reading));
  const names = kept.slice(0, 3).map(originOf).join(', ');
  return {
    source: {
      complete: false,
      clusters: [...source.clusters, ...kept],
      problems: [
        ...source.problems,
        { origin: MASS_DELETE, reason: `${breaker.reason}; among them ${names}` },
      ],
    },
    vanishedSinceMs: breaker.sinceMs,
    recent: new Map(),
  };
}

/**
 * An object that was not there any more owns nothing: what referred to it the garbage collector takes away, and would take away
 * again each time it is made again.
 */
function withoutOwner(reading: ClusterReading): ClusterReading {
  const object = objectOf(reading);
  if (object === null || object.uid === null) return reading;
  const ownerless = { object: { ...object, uid: null } };
  return reading.kind === 'proxied'
    ? { ...reading, facts: { ...reading.facts, ...ownerless } }
    : { ...reading, ...ownerless };
}
