// sniproxy, a small proxy in C. It cannot dial in a netns, so its backend is on loopback and its results are marked.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_BACKEND_PORT, type Site } from '../harness/site.ts';
import type { Program } from '../harness/tools.ts';
import { PeerError, type PeerProgram } from './peer.ts';
import { environmentOf, nextPort, startProcess } from './running.ts';

export function sniproxy(program: Program): PeerProgram {
  return {
    name: 'sniproxy',
    entersNetns: false,
    version: () =>
      /sniproxy (\S+)/.exec(
        execFileSync('sh', ['-c', '"$1" -V 2>&1 || true', 'sh', program.path], {
          encoding: 'utf8',
          env: environmentOf(program),
        }),
      )?.[1] ?? 'unknown',
    start: async (site) => {
      if (site.needs.threads > 1) throw new PeerError('sniproxy has one thread only');
      const port = nextPort();
      const file = join(site.directory, `sniproxy-${port}.conf`);
      writeFileSync(file, configuration(site, port));
      return startProcess('sniproxy', site, port, program, ['-f', '-c', file, '-n', '19000']);
    },
  };
}

function configuration(site: Site, port: number): string {
  const names = site.clusters.map(
    ({ serverName }) => `  ${serverName.replaceAll('.', '\\.')} 127.0.0.1:${LOCAL_BACKEND_PORT}\n`,
  );
  return `user root
listener 127.0.0.1:${port} {
  proto tls
}
table {
${names.join('')}}
`;
}
