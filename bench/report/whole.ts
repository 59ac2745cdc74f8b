// Which run may stand as the project's last result: one with every goal in it, against everybody, measured as long as by default. Less
// than that would replace numbers by gaps, or by numbers that nobody should rely on.
import { DEFAULTS } from '../harness/options.ts';
import type { Report } from './report.ts';

export type Extent = Pick<Report, 'rounds' | 'seconds' | 'peers' | 'goals'>;

/** Why it is only part of one; null: it is whole. */
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
