// Checks the Node version and the clock of the host before the program uses them, because both fail later with an unclear error. An older
// Node lacks a feature. A host without a battery, or before time synchronisation, starts in 1970 or at its firmware date: certificates and
// tokens then fail to verify. Pure.

const OLDEST_NODE = [22, 19] as const;

/** null if the version is new enough. */
export function nodeProblem(node: string, path: string): string | null {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return null;
  return `isthmus needs Node ${OLDEST_NODE.join('.')} or later; this is ${node} (${path})`;
}

/** The date of this source code. A correct clock never shows an earlier time. */
const WRITTEN_MS = Date.UTC(2026, 10, 1);

/** A sentence for the operator; null if the clock is plausible. */
export function clockProblem(wallNowMs: number): string | null {
  if (wallNowMs >= WRITTEN_MS) return null;
  return `the clock of this host says ${new Date(wallNowMs).toISOString().slice(0, 16)}Z, which is before this program was written`;
}

export const CLOCK_FIX =
  'Set the clock (chrony, systemd-timesyncd): certificates and tokens depend on it, and TLS to the Kubernetes API fails until it is right.';
