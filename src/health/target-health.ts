// What is known about the health of one backend, as plain data.

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
