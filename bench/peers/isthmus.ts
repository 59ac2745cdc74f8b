// Isthmus as a user runs it: from dist/, on the pinned Node, with health checks. It logs nothing per connection.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { manifestsOf } from '../harness/site.ts';
import type { PeerProgram } from './peer.ts';
import { nextPort, startProcess } from './running.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** @param from the checkout whose `dist` runs; `npm run setup` must have prepared it. */
export function isthmus(engine: 'native' | 'streams', name = `isthmus-${engine}`, from = root): PeerProgram {
  return {
    name,
    entersNetns: true,
    version: () =>
      (JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as { version: string }).version,
    start: async (site) => {
      const port = nextPort();
      const admin = nextPort();
      const missing = async (): Promise<string | null> => {
        try {
          const ready = await fetch(`http://127.0.0.1:${admin}/readyz`, { signal: patience() });
          const unserved = await notServed(admin, site.clusters.length);
          return ready.ok ? unserved : `/readyz says ${ready.status}; ${unserved ?? 'all clusters serve'}`;
        } catch (error) {
          return `its admin port does not answer: ${(error as Error).message}`; // not listening yet
        }
      };
      return startProcess(
        name,
        site,
        port,
        { path: process.execPath, libraries: '' },
        [
          join(from, 'dist', 'main.js'),
          'run',
          ...['--engine', engine, '--threads', String(site.needs.threads)],
          ...['--source', `file:${manifestsOf(site, name)}`],
          ...['--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${admin}`],
          ...['--max-connections', '9300', '--max-connections-per-cluster', '9300'],
          ...['--log-level', 'warn', '--log-format', 'json'],
        ],
        missing,
      );
    },
  };
}

/** An instance that does not answer in this time is not ready. Without this limit, one hung answer would block the run. */
const patience = (): AbortSignal => AbortSignal.timeout(5000);

interface Status {
  readonly clusters: readonly { readonly state: string }[];
}

/** Readiness only means that the program answers. This also checks that every cluster passes its health checks; null if all do. */
export function unservedOf({ clusters }: Status, wanted: number): string | null {
  const counts = new Map<string, number>();
  for (const { state } of clusters) counts.set(state, (counts.get(state) ?? 0) + 1);
  const serving = counts.get('serving') ?? 0;
  if (serving === wanted) return null;
  const others = [...counts].filter(([state]) => state !== 'serving').map(([state, n]) => `${n} ${state}`);
  return [`${serving} of ${wanted} clusters serve`, ...others].join(', ');
}

async function notServed(admin: number, clusters: number): Promise<string | null> {
  const answer = await fetch(`http://127.0.0.1:${admin}/status`, { signal: patience() });
  return unservedOf((await answer.json()) as Status, clusters);
}

export const allServe = async (admin: number, clusters: number): Promise<boolean> =>
  (await notServed(admin, clusters)) === null;
