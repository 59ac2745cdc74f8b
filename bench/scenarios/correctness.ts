// The correctness cases, before anything is measured: who fails an essential one has no results to show.

import { clusterName, writeHellos } from '../harness/hellos.ts';
import type { CorrectnessResult, Load } from '../harness/load.ts';
import type { Site } from '../harness/site.ts';
import type { RunningPeer } from '../peers/peer.ts';

/** A peer that loses or changes bytes here is not faster, it does less. Of Isthmus every case is required. */
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
  /** Null when its results may be shown. */
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
  // No proxy, no names: the case means nothing to `direct`.
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

/** Or why there are none: a peer that takes the tester down is out, the run goes on with the others. */
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
