// The part of a run that needs the network: compiles the load generator and fetches the peers. main.ts then runs in a sandbox
// without network.
import { buildLoad } from './harness/build-load.ts';
import { readOptions } from './harness/options.ts';
import { findProgram } from './harness/packages.ts';
import { type FoundProgram, writeTools } from './harness/tools.ts';

const options = readOptions(process.argv.slice(2));
const programs: Record<string, FoundProgram> = {};
for (const name of ['haproxy', 'nginx', 'sniproxy', 'envoy'])
  if (options.peers.some((peer) => peer === name || peer.startsWith(`${name}-`)))
    programs[name] = await findProgram(name);
writeTools({ load: buildLoad(), programs });
