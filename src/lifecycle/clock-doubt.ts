// Whether the clock of this host can be right at all: a host without a battery, or before its time service, begins in 1970 or at
// the date of its firmware. Certificates and tokens are judged by the clock, so nothing works then, and nothing says why. Pure.

/** When this was written: no clock that is right shows less. */
const WRITTEN_MS = Date.UTC(2026, 10, 1);

/** A sentence for a person; null while nothing speaks against it. */
export function clockDoubt(wallNowMs: number): string | null {
  if (wallNowMs >= WRITTEN_MS) return null;
  return `the clock of this host says ${new Date(wallNowMs).toISOString().slice(0, 16)}Z, which is before this program was written`;
}

export const CLOCK_FIX =
  'Set the clock (chrony, systemd-timesyncd): certificates and tokens are judged by it, and the Kubernetes API will not be trusted before.';
