// Prevents a turn from deleting most of our objects. One bad answer must not cut off all clusters at once: an empty list, a
// reinstalled CRD, a typing error in a label selector, a half-finished restore. Pure.

/**
 * How long a mass deletion must persist before it is carried out. A Service that stays five minutes too long does little
 * harm: its name leads nowhere. A Service that is deleted by mistake cuts off all clients of its cluster. Restores, moves
 * and CRD upgrades finish within minutes, and an operator who deleted too much has time to see the alert.
 */
export const MASS_DELETE_LASTS_MS = 5 * 60_000;

/** The origin of the breaker's problem, for status and metrics. */
export const MASS_DELETE = 'mass delete';
export type MassDeleteOrigin = typeof MASS_DELETE;

/** Small deletions are normal, for example the last three clusters of a test site. */
const ALWAYS_ALLOWED = 3;

export interface MassDeleteQuestion {
  /** Number of our objects, of all clusters and instances. */
  readonly ours: number;
  /** How many of them this turn would delete. This instance's slice of an unhealthy backend does not count. */
  readonly wouldGo: number;
  /** `sinceMs` of the last answer; null in the first turn. */
  readonly sinceMs: number | null;
  /** Monotonic. */
  readonly nowMs: number;
  /** `--allow-mass-delete` */
  readonly allow: boolean;
  readonly lastsMs?: number;
}

export interface MassDeleteAnswer {
  /** True: delete none of them in this turn, and report the reason. */
  readonly trip: boolean;
  /** For status and log; null if there is nothing to report. */
  readonly reason: string | null;
  /** Since when the mass deletion has been due. The caller passes it to the next call. */
  readonly sinceMs: number | null;
}

export function massDelete(question: MassDeleteQuestion): MassDeleteAnswer {
  const { ours, wouldGo, sinceMs, nowMs, allow, lastsMs = MASS_DELETE_LASTS_MS } = question;
  if (wouldGo <= ALWAYS_ALLOWED || wouldGo * 2 <= ours) return { trip: false, reason: null, sinceMs: null };
  const since = sinceMs ?? nowMs;
  const what = `${wouldGo} of our ${ours} objects would be deleted at once`;
  if (allow) return { trip: false, reason: `${what}: --allow-mass-delete is given`, sinceMs: since };
  const leftMs = since + lastsMs - nowMs;
  if (leftMs <= 0)
    return { trip: false, reason: `${what}: the state has persisted, so they are deleted`, sinceMs: since };
  // The reason contains no remaining time, so the status stays the same until something changes.
  const minutes = Math.round(lastsMs / 6000) / 10;
  const reason =
    `${what}, so none is deleted: this is usually a mistake; the deletion continues after ` +
    `${minutes} ${minutes === 1 ? 'minute' : 'minutes'} of the same state, or with --allow-mass-delete`;
  return { trip: true, reason, sinceMs: since };
}
