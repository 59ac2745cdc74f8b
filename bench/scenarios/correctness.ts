// Runs the correctness cases before any measurement. A peer that fails an essential case is disqualified.

import { clusterName, writeHellos } from '../harness/hellos.ts';
import type { CorrectnessResult, Load } from '../harness/load.ts';
import type { Site } from '../harness/site.ts';
import type { RunningPeer } from '../peers/peer.ts';

/** A peer that loses or changes bytes is not faster, it does less work. Isthmus must pass every case, not only these. */
const ESSENTIAL = [
  'integrity',
  'slow reader',
  'half-close by the client',
  'half-close by the backend',
  'hello in five segments',
  'data right behind the hello',
];

export interface Correctness {
  readonly peer: string;
  readonly cases: CorrectnessResult['cases'];
  /** The reason, or null if the report may show the peer's results. */
  readonly disqualified: string | null;
}

export async function testCorrectness(
  peer: RunningPeer,
  load: Pick<Load, 'correctness'>,
  site: Pick<Site, 'directory' | 'hellos'>,
): Promise<Correctness> {
  const said = await allCases(peer, load, site);
  if (typeof said === 'string')
    return { peer: peer.name, cases: [], disqualified: `it could not be tested: ${said}` };
  // `direct` has no proxy that could check the name, so this case does not apply.
  const cases = said.filter(({ name }) => peer.name !== 'direct' || name !== 'unknown name');
  const failed = cases.filter(({ problem }) => problem !== '');
  const fatal = failed.filter(({ name }) => peer.name.startsWith('isthmus-') || ESSENTIAL.includes(name));
  const [first] = fatal;
  return {
    peer: peer.name,
    cases,
    disqualified: first === undefined ? null : `${first.name}: ${first.problem}`,
  };
}

/** Returns the cases, or why they could not run. A peer that crashes the tester is disqualified, and the run continues. */
async function allCases(
  peer: RunningPeer,
  load: Pick<Load, 'correctness'>,
  site: Pick<Site, 'directory' | 'hellos'>,
): Promise<CorrectnessResult['cases'] | string> {
  const hellos = {
    hello: site.hellos('classic'),
    large: site.hellos('post-quantum'),
    unknown: writeHellos(site.directory, 'classic', [clusterName(99_999), clusterName(99_998)]),
  };
  try {
    return (await load.correctness(peer.target, hellos)).cases;
  } catch (error) {
    return (error as Error).message;
  }
}
