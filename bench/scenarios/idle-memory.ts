// Measures the memory of an idle connection: the growth of PSS and RSS from 0 to 1000, 5000 and 9000 connections. Each connection
// exchanges a hello and 1 KB and then stays silent. The process has served 200 connections before. The kernel's socket buffers are
// not included, because they are equal for all peers.
import { type HeldConnections, holdConnections } from '../harness/held-connections.ts';
import { memoryOf, pause } from '../harness/processes.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

const COUNTS = [1000, 5000, 9000] as const;
const SETTLE_MS = 1500;

export const idleMemory: Scenario = {
  name: 'idle-memory',
  title: 'Memory per idle connection',
  needs: ONE_ROUTE,
  fresh: true,
  timeless: true,
  metrics: [
    ...COUNTS.map((count) => ({
      name: `pss${count}`,
      title: `PSS per idle connection, ${count} open`,
      unit: 'KB',
      better: 'lower' as const,
    })),
    { name: 'rss9000', title: 'RSS per idle connection, 9000 open', unit: 'KB', better: 'lower' as const },
  ],
  seconds: () => 16,
  rounds: (asked) => (asked < 5 ? 1 : 3),
  participants: (peers, site) =>
    peers.filter(({ name }) => name !== 'direct').map((peer) => ({ name: peer.name, peer, site })),
  measure: async (peer, { site, load }) => {
    const hello = site.hellos('classic');
    // A first batch loads code and allocates shared buffers. These are not a cost per connection.
    await (await holdConnections(load.program, peer.target, hello, 200)).release();
    await pause(SETTLE_MS);
    const before = memoryOf(peer.pids());
    const values: Record<string, number> = {};
    const held: HeldConnections[] = [];
    let open = 0;
    for (const count of COUNTS) {
      held.push(await holdConnections(load.program, peer.target, hello, count - open));
      open = count;
      await pause(SETTLE_MS);
      const now = memoryOf(peer.pids());
      values[`pss${count}`] = (now.pss - before.pss) / 1024 / count;
      values[`rss${count}`] = (now.rss - before.rss) / 1024 / count;
    }
    let alive = 0;
    for (const each of held) alive += await each.release();
    if (alive !== open) throw new Error(`${open - alive} of ${open} idle connections were lost`);
    return { values };
  },
};
