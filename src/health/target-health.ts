// What is known about the health of one backend, as plain data, and how its failure is told.

export interface ProbeResult {
  readonly atMs: number;
  readonly ok: boolean;
  readonly durationMs: number;
  /** A code such as ECONNREFUSED or ETIMEDOUT; null when it passed. */
  readonly error: string | null;
}

export interface TargetHealth {
  readonly up: boolean;
  /** When `up` last changed (or the target was added), in milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly lastProbe: ProbeResult | null;
}

/**
 * For sentences that are compared with those of the turn before. A neighbour that is silent fails in turns by our own deadline and by the
 * kernel's, which gives up on ARP after three seconds: told as two things, one dead machine would be news for ever.
 */
export const settledError = (error: string): string => (error === 'EHOSTUNREACH' ? 'ETIMEDOUT' : error);
