// nginx with the stream module and ssl_preread. It cannot dial in a netns, so its backend is on loopback and its results are marked.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_BACKEND_PORT, type Site } from '../harness/site.ts';
import type { Program } from '../harness/tools.ts';
import type { PeerProgram } from './peer.ts';
import { environmentOf, nextPort, startProcess } from './running.ts';

export function nginx(program: Program): PeerProgram {
  return {
    name: 'nginx',
    entersNetns: false,
    version: () => {
      // nginx prints its version on standard error.
      const said = execFileSync('sh', ['-c', '"$1" -v 2>&1', 'sh', program.path], {
        encoding: 'utf8',
        env: environmentOf(program),
      });
      return /nginx\/(\S+)/.exec(said)?.[1] ?? 'unknown';
    },
    start: async (site) => {
      const port = nextPort();
      const home = join(site.directory, `nginx-${port}`);
      mkdirSync(join(home, 'logs'), { recursive: true });
      const file = join(home, 'nginx.conf');
      const modules = join(program.path, '..', '..', 'lib', 'nginx', 'modules');
      writeFileSync(file, configuration(site, port, modules, home));
      const args = ['-p', home, '-c', file, '-e', 'stderr'];
      return startProcess('nginx', site, port, program, args);
    },
  };
}

function configuration(site: Site, port: number, modules: string, home: string): string {
  const names = site.clusters.map(({ serverName }) => `    ${serverName} 127.0.0.1:${LOCAL_BACKEND_PORT};\n`);
  return `load_module ${modules}/ngx_stream_module.so;
daemon off;
user root;
pid ${home}/nginx.pid;
worker_processes ${site.needs.threads};
worker_rlimit_nofile 20000;
error_log stderr crit;
events { worker_connections 19000; multi_accept on; }
stream {
  access_log off;
  map_hash_max_size 8192;
  map_hash_bucket_size 128;
  map $ssl_preread_server_name $backend {
${names.join('')}  }
  server {
    listen 127.0.0.1:${port} backlog=4096${site.needs.threads > 1 ? ' reuseport' : ''};
    tcp_nodelay on;
    ssl_preread on;
    proxy_half_close on;
    proxy_pass $backend;
  }
}
`;
}
