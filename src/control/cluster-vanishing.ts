// Most clusters gone at once is more often a mistake (an empty answer, a wrong namespace, a restore under way) than the truth.
// Until it has lasted they count as still there, and the world as incomplete, so that neither routes nor objects go. Pure.
import { keyOf, objectOf, originOf } from './cluster-reading.ts';
import type { ClusterReading, SourceSnapshot } from './cluster-source.ts';
import { MASS_DELETE, massDelete } from './mass-delete-breaker.ts';

export interface Seen {
  readonly source: SourceSnapshot;
  /** What the last turn knew; null at the first one, and where clusters come from files: who empties a directory means it. */
  readonly before: readonly ClusterReading[] | null;
  /** Since when most of them have been missing (monotonic); null: they are not. */
  readonly sinceMs: number | null;
  readonly nowMs: number;
  readonly allow: boolean;
}

export interface Vanishing {
  readonly source: SourceSnapshot;
  readonly vanishedSinceMs: number | null;
}

export function withoutMassVanishing({ source, before, sinceMs, nowMs, allow }: Seen): Vanishing {
  if (before === null) return { source, vanishedSinceMs: null };
  if (!source.complete) return { source, vanishedSinceMs: sinceMs };
  const present = new Set(source.clusters.map(keyOf));
  const gone = before.filter((reading) => !present.has(keyOf(reading)));
  const breaker = massDelete({ ours: before.length, wouldGo: gone.length, sinceMs, nowMs, allow });
  if (!breaker.trip) return { source, vanishedSinceMs: breaker.sinceMs };
  const names = gone.slice(0, 3).map(originOf).join(', ');
  return {
    source: {
      complete: false,
      clusters: [...source.clusters, ...gone.map(withoutOwner)],
      problems: [
        ...source.problems,
        { origin: MASS_DELETE, reason: `${breaker.reason}; among them ${names}` },
      ],
    },
    vanishedSinceMs: breaker.sinceMs,
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
