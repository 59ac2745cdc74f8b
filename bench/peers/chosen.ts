// Selects the peers of a run from their names and the programs that prepare.ts found.
import { resolve } from 'node:path';
import type { Options } from '../harness/options.ts';
import type { FoundProgram, Program, Tools } from '../harness/tools.ts';
import { direct } from './direct.ts';
import { envoy } from './envoy.ts';
import { HAPROXY_VARIANTS, haproxy } from './haproxy.ts';
import { isthmus } from './isthmus.ts';
import { nginx } from './nginx.ts';
import type { PeerProgram } from './peer.ts';
import { sniproxy } from './sniproxy.ts';

export interface Chosen {
  readonly peers: readonly PeerProgram[];
  readonly missing: ReadonlyMap<string, string>;
}

const MAKERS: Readonly<Record<string, (program: Program) => PeerProgram>> = {
  ...Object.fromEntries(
    Object.entries(HAPROXY_VARIANTS).map(([name, variant]) => [
      name,
      (program: Program) => haproxy(program, name, variant),
    ]),
  ),
  nginx,
  sniproxy,
  envoy,
};

export function chosenPeers(
  options: Pick<Options, 'peers' | 'haproxies' | 'checkouts'>,
  tools: Tools,
): Chosen {
  const peers: PeerProgram[] = [];
  const missing = new Map<string, string>();
  for (const name of options.peers) {
    if (name === 'direct') peers.push(direct);
    else if (name === 'isthmus-native') peers.push(isthmus('native'));
    else if (name === 'isthmus-streams') peers.push(isthmus('streams'));
    else {
      const found: FoundProgram = tools.programs[name in HAPROXY_VARIANTS ? 'haproxy' : name] ?? {
        problem: 'was not looked for',
      };
      if ('program' in found) peers.push(MAKERS[name]!(found.program));
      else missing.set(name, found.problem);
    }
  }
  options.haproxies.forEach((path, index) => {
    peers.push(haproxy({ path, libraries: '' }, `haproxy-${index + 2}`));
  });
  options.checkouts.forEach((path, index) => {
    peers.push(isthmus('native', `isthmus-native-${index + 2}`, resolve(path)));
  });
  return { peers, missing };
}
