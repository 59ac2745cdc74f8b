// Detects a host clock that is certainly wrong. Without a battery, or before time synchronisation, a host starts in 1970 or at its
// firmware date. Certificates and tokens then fail to verify, without a clear error. Pure.

/** The date of this source code. A correct clock never shows an earlier time. */
const WRITTEN_MS = Date.UTC(2026, 10, 1);

/** A sentence for the operator; null if the clock is plausible. */
export function clockProblem(wallNowMs: number): string | null {
  if (wallNowMs >= WRITTEN_MS) return null;
  return `the clock of this host says ${new Date(wallNowMs).toISOString().slice(0, 16)}Z, which is before this program was written`;
}

export const CLOCK_FIX =
  'Set the clock (chrony, systemd-timesyncd): certificates and tokens depend on it, and TLS to the Kubernetes API fails until it is right.';
