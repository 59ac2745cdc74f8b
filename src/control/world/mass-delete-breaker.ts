// Stops a turn that would delete most of what we keep. One bad answer (an empty list, a CRD reinstalled, a label selector with
// a typing error, a restore that is half done) must not cut off every cluster at once. Pure.

/**
 * So long the same must be true before it is believed. A Service that stays five minutes too long costs a dead name; one
 * deleted by mistake costs every client of its cluster. Restores, moves and CRD upgrades are through within minutes, and
 * whoever deleted too much has seen the alert by then.
 */
export const MASS_DELETE_LASTS_MS = 5 * 60_000;

/** Where its problem comes from, for status and metrics. */
export const MASS_DELETE = 'mass delete';
export type MassDeleteOrigin = typeof MASS_DELETE;

/** Few objects go together all the time: the last three clusters of a test site. */
const ALWAYS_ALLOWED = 3;

export interface MassDeleteQuestion {
  /** Objects of ours that there are, of all clusters and instances. */
  readonly ours: number;
  /** Of those, how many would be deleted in this turn. Our own slice of a backend that failed its checks is none of them. */
  readonly wouldGo: number;
  /** As the last answer gave it; null at first. */
  readonly sinceMs: number | null;
  /** On a clock that does not jump. */
  readonly nowMs: number;
  /** `--allow-mass-delete` */
  readonly allow: boolean;
  readonly lastsMs?: number;
}

export interface MassDeleteAnswer {
  /** True: delete none of them in this turn, and say so. */
  readonly trip: boolean;
  /** For status and log; null where there is nothing to tell. */
  readonly reason: string | null;
  /** To be handed in again: since when so many would go. */
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
    return { trip: false, reason: `${what}: that has lasted, so they are deleted`, sinceMs: since };
  // No clock in the sentence, so that status says the same until something changes.
  const minutes = Math.round(lastsMs / 6000) / 10;
  const reason =
    `${what}, so none is: that is more often a mistake than meant; it goes on once this has been so for ` +
    `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, or with --allow-mass-delete`;
  return { trip: true, reason, sinceMs: since };
}
