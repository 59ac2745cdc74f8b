// Measures the resident memory of Isthmus without connections, minus that of a bare Node of the same version with one worker thread.
import { LOAD_CORE, memoryOf, pause, spawnPinned, stopProcess } from '../harness/processes.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

const BARE = `new (require('node:worker_threads').Worker)('setInterval(() => {}, 1e6)', { eval: true }); setInterval(() => {}, 1e6)`;
const SETTLE_MS = 4000;

async function bareNode(): Promise<number> {
  const child = spawnPinned(LOAD_CORE, process.execPath, ['-e', BARE]);
  await pause(SETTLE_MS);
  const { rss } = memoryOf([child.pid!]);
  await stopProcess(child);
  return rss;
}

export const baselineMemory: Scenario = {
  name: 'baseline-memory',
  title: 'Resident memory with no connection',
  needs: ONE_ROUTE,
  fresh: true,
  timeless: true,
  metrics: [
    { name: 'above', title: 'RSS above a bare Node with one worker', unit: 'MB', better: 'lower' },
    { name: 'rss', title: 'RSS', unit: 'MB', better: 'lower' },
    { name: 'bare', title: 'RSS of that bare Node', unit: 'MB', better: 'lower' },
  ],
  seconds: () => 2 * (SETTLE_MS / 1000) + 3,
  rounds: (asked) => (asked < 5 ? 1 : 3),
  participants: (peers, site) =>
    peers.filter(({ name }) => name.startsWith('isthmus-')).map((peer) => ({ name: peer.name, peer, site })),
  measure: async (peer) => {
    await pause(SETTLE_MS);
    const { rss } = memoryOf(peer.pids());
    const bare = await bareNode();
    return { values: { above: (rss - bare) / 1e6, rss: rss / 1e6, bare: bare / 1e6 } };
  },
};
