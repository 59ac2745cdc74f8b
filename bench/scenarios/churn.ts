// Routes change every 100 ms: what becomes of established connections, and of new ones? Each measurement compares Isthmus with
// itself a moment before (or after: the order is random).
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterName } from '../harness/hellos.ts';
import { manifest, type Site } from '../harness/site.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

const EVERY_MS = 100;

/** Adds and removes a route to the same backend (which is known to be healthy, so that the table really changes). */
async function whileRoutesChange<T>(site: Site, work: () => Promise<T>): Promise<T> {
  const file = join(site.directory, 'manifests', 'churn.yaml');
  let turn = 0;
  const timer = setInterval(() => {
    turn += 1;
    const name = clusterName(90_000 + (turn % 2));
    writeFileSync(file, manifest({ ...site.clusters[0]!, name, serverName: `${name}.magnum-system` }));
  }, EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    rmSync(file, { force: true });
  }
}

export const churn: Scenario = {
  name: 'churn',
  title: `Routes that change every ${EVERY_MS} ms`,
  wish: ONE_ROUTE,
  metrics: [
    { name: 'broken', title: 'established connections broken', unit: '', better: 'lower' },
    {
      name: 'requests',
      title: 'requests/s on established connections, of undisturbed',
      unit: '×',
      better: 'higher',
    },
    { name: 'connections', title: 'new connections/s, of undisturbed', unit: '×', better: 'higher' },
  ],
  seconds: ({ seconds, warmup }) => 6 * seconds + 4 * warmup,
  participants: (peers, site) =>
    peers.filter(({ name }) => name.startsWith('isthmus-')).map((peer) => ({ name: peer.name, peer, site })),
  measure: async (peer, { load, site, timing }) => {
    const hello = site.hellos('classic');
    const longer = { ...timing, seconds: 2 * timing.seconds };
    let broken = 0;
    const requests = async (): Promise<number> => {
      const result = await load.requests(peer.target, hello, longer, 64, true);
      broken += result.errors;
      return result.perSecond;
    };
    const connections = async (): Promise<number> =>
      (await load.connections(peer.target, hello, timing)).perSecond;
    const compared = async (work: () => Promise<number>): Promise<number> => {
      const first = Math.random() < 0.5;
      const changing = first ? await whileRoutesChange(site, work) : 0;
      const undisturbed = await work();
      return (first ? changing : await whileRoutesChange(site, work)) / undisturbed;
    };
    const values = { requests: await compared(requests), connections: await compared(connections) };
    return { values: { ...values, broken } };
  },
};
