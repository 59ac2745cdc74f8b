// If most clusters disappear at once, the cause is usually a mistake: an empty answer, a wrong namespace, an unfinished restore. For some
// minutes these clusters still count as present and the World as incomplete, so routes and objects stay. Pure.
import { keyOf, objectOf, originOf } from '../sources/cluster-reading.ts';
import type { ClusterReading, SourceSnapshot } from '../sources/cluster-source.ts';
import { MASS_DELETE, massDelete } from './mass-delete-breaker.ts';

export interface VanishingQuestion {
  readonly source: SourceSnapshot;
  /**
   * The clusters of the last turn that were proxied at least once; null in the first turn. Also null if clusters come from
   * files: an operator who empties the directory does so on purpose.
   */
  readonly before: readonly ClusterReading[] | null;
  /** Since when most clusters have been missing (monotonic); null: they are present. */
  readonly sinceMs: number | null;
  /** By key: the recently vanished clusters, from the last result. */
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

/** Deletions within this time count as simultaneous: a watch reports them one by one, with turns in between. */
const SIMULTANEOUS_MS = 10_000;

export function withoutMassVanishing({
  source,
  before,
  sinceMs,
  recent,
  nowMs,
  allow,
}: VanishingQuestion): Vanishing {
  if (before === null) return { source, vanishedSinceMs: null, recent: new Map() };
  if (!source.complete) return { source, vanishedSinceMs: sinceMs, recent };
  const present = new Set(source.clusters.map(keyOf));
  const missing = new Map<string, Gone>();
  for (const [key, gone] of recent)
    if (!present.has(key) && nowMs - gone.atMs < SIMULTANEOUS_MS) missing.set(key, gone);
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
 * Removes the uid, so no object gets an owner reference to the vanished cluster. The garbage collector deletes objects whose
 * owner does not exist, and would delete them again after each re-creation.
 */
function withoutOwner(reading: ClusterReading): ClusterReading {
  const object = objectOf(reading);
  if (object === null || object.uid === null) return reading;
  const ownerless = { object: { ...object, uid: null } };
  return reading.kind === 'proxied'
    ? { ...reading, facts: { ...reading.facts, ...ownerless } }
    : { ...reading, ...ownerless };
}
