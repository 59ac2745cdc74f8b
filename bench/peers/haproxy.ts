// HAProxy in the best configuration found for this work. README.md lists the settings that were tried.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Site, TENANT_ADDRESS, TENANT_PORT } from '../harness/site.ts';
import type { Program } from '../harness/tools.ts';
import type { PeerProgram } from './peer.ts';
import { environmentOf, nextPort, startProcess } from './running.ts';

/** No configuration is best at everything, so several take part. Splice and larger pipes help bulk transfers but slow small requests. */
export const HAPROXY_VARIANTS = {
  haproxy: { splice: true, pipeBytes: null },
  'haproxy-nosplice': { splice: false, pipeBytes: null },
  'haproxy-pipes': { splice: true, pipeBytes: 1 << 20 },
} as const;
type Variant = (typeof HAPROXY_VARIANTS)[keyof typeof HAPROXY_VARIANTS];

export function haproxy(
  program: Program,
  name = 'haproxy',
  variant: Variant = HAPROXY_VARIANTS.haproxy,
): PeerProgram {
  return {
    name,
    entersNetns: true,
    version: () =>
      /version (\S+)/.exec(
        execFileSync(program.path, ['-v'], { encoding: 'utf8', env: environmentOf(program) }),
      )?.[1] ?? 'unknown',
    start: async (site) => {
      const port = nextPort();
      const file = join(site.directory, `${name}.cfg`);
      writeFileSync(file, configuration(site, port, name, variant));
      return startProcess(name, site, port, program, ['-db', '-f', file]);
    },
  };
}

function configuration(site: Site, port: number, name: string, { splice, pipeBytes }: Variant): string {
  const backends = site.clusters.map(
    (cluster) =>
      `backend ${cluster.name}\n  server s ${TENANT_ADDRESS}:${TENANT_PORT} namespace ${cluster.netns}\n`,
  );
  return `global
  nbthread ${site.needs.threads}
  maxconn 9300
  maxpipes 256${pipeBytes === null ? '' : `\n  tune.pipesize ${pipeBytes}`}
defaults
  mode tcp
  option tcp-smart-connect
${splice ? '  option splice-request\n  option splice-response' : ''}
  timeout connect 5s
  timeout client 2m
  timeout server 2m
frontend in
  bind 127.0.0.1:${port}
  tcp-request inspect-delay 5s
  tcp-request content accept if { req.ssl_hello_type 1 }
${choice(site, name)}
${backends.join('')}`;
}

/** Uses a rule for one name and a map for many: HAProxy looks up a map in a tree but checks rules one after another. */
function choice(site: Site, name: string): string {
  const [first] = site.clusters;
  if (site.clusters.length === 1)
    return `  use_backend ${first!.name} if { req.ssl_sni -i ${first!.serverName} }\n`;
  const map = join(site.directory, `${name}.map`);
  writeFileSync(map, site.clusters.map((each) => `${each.serverName} ${each.name}\n`).join(''));
  return `  use_backend %[req.ssl_sni,lower,map_str(${map})]\n`;
}
