// Isthmus as a user runs it: from dist/, on the pinned Node, with its health checks, and with nothing written per connection.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { manifestsOf } from '../harness/site.ts';
import type { Peer } from './peer.ts';
import { nextPort, startProcess } from './running.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export function isthmus(engine: 'native' | 'streams'): Peer {
  const name = `isthmus-${engine}`;
  return {
    name,
    entersNetns: true,
    version: () =>
      (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version,
    start: async (site) => {
      const port = nextPort();
      const admin = nextPort();
      const isReady = async (): Promise<boolean> => {
        try {
          return (
            (await fetch(`http://127.0.0.1:${admin}/readyz`)).ok &&
            (await allServe(admin, site.clusters.length))
          );
        } catch {
          return false; // not listening yet
        }
      };
      return startProcess(
        name,
        site,
        port,
        { path: process.execPath, libraries: '' },
        [
          join(root, 'dist', 'main.js'),
          'run',
          ...['--engine', engine, '--threads', String(site.wish.threads)],
          ...['--source', `file:${manifestsOf(site, name)}`],
          ...['--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${admin}`],
          ...['--max-connections', '9300', '--max-connections-per-cluster', '9300'],
          ...['--log-level', 'warn', '--log-format', 'json'],
        ],
        isReady,
      );
    },
  };
}

/** Ready means that it answers; we also wait until every cluster passed its health checks. */
export async function allServe(admin: number, clusters: number): Promise<boolean> {
  const status = (await (await fetch(`http://127.0.0.1:${admin}/status`)).json()) as {
    clusters: { state: string }[];
  };
  return status.clusters.filter(({ state }) => state === 'serving').length === clusters;
}
