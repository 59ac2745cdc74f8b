// The health of one backend as plain data, and the stable form of its error code for messages.

export interface ProbeResult {
  readonly atMs: number;
  readonly ok: boolean;
  readonly durationMs: number;
  /** A code such as ECONNREFUSED or ETIMEDOUT; null if the probe passed. */
  readonly error: string | null;
}

export interface TargetHealth {
  readonly up: boolean;
  /** When `up` last changed, or when the target was added; milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly lastProbe: ProbeResult | null;
}

/**
 * For messages that are compared with those of the previous turn. Probes of a dead machine fail alternately by our own deadline and by the
 * kernel's, which gives up on ARP after three seconds. With two different codes, one dead machine would cause a new message every time.
 */
export const settledError = (error: string): string => (error === 'EHOSTUNREACH' ? 'ETIMEDOUT' : error);
