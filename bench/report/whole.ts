// Decides which run may replace the project's last result. A run must measure every goal, include all default peers, and last as long
// as the default. A smaller run would replace good numbers by gaps or by unreliable numbers.
import { DEFAULTS } from '../harness/options.ts';
import type { Report } from './report.ts';

export type Extent = Pick<Report, 'rounds' | 'seconds' | 'peers' | 'goals'>;

/** Returns why the run is incomplete, or null if it is complete. */
export function partialBecause({ rounds, seconds, peers, goals }: Extent): string | null {
  const unmeasured = goals.find(({ verdict }) => verdict === 'not measured');
  if (unmeasured !== undefined) return `'${unmeasured.title}' was not measured`;
  const failed = goals.find(({ verdict }) => verdict === 'failed');
  if (failed !== undefined) return `'${failed.title}' failed`;
  if (rounds < DEFAULTS.rounds) return `fewer than ${DEFAULTS.rounds} rounds`;
  if (seconds < DEFAULTS.seconds) return `rounds of less than ${DEFAULTS.seconds} s`;
  for (const wanted of DEFAULTS.peers) {
    const peer = peers.find(({ name }) => name === wanted);
    if (peer === undefined) return `${wanted} took no part`;
    if (peer.problem !== null) return `${wanted} took no part, or not in everything`;
  }
  return null;
}
