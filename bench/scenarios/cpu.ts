// CPU of the proxy where it is not saturated: per connection at a modest fixed rate, per GB on 4 connections.
// (The same at full load is in the columns of `bulk` and `new-connections`.)
import { ONE_ROUTE, type Scenario, withCpu } from './scenario.ts';

const RATE = 2000;

export const cpu: Scenario = {
  name: 'cpu',
  title: `CPU time of the proxy, ${RATE} new connections/s`,
  wish: ONE_ROUTE,
  metrics: [
    { name: 'perConnection', title: `CPU per connection at ${RATE}/s`, unit: 'µs', better: 'lower' },
    { name: 'perGb', title: 'CPU per GB down, 4 connections', unit: 'ms', better: 'lower' },
  ],
  seconds: ({ seconds, warmup }) => 2 * (seconds + warmup),
  participants: (peers, site) =>
    peers.filter(({ name }) => name !== 'direct').map((peer) => ({ name: peer.name, peer, site })),
  measure: async (peer, { load, site, timing }) => {
    const hello = site.hellos('classic');
    const [some, connectionCpu] = await withCpu(peer, () =>
      load.connections(peer.target, hello, timing, { rate: RATE }),
    );
    const [bulk, bulkCpu] = await withCpu(peer, () => load.bulk(peer.target, hello, timing, 'down', 4));
    return {
      values: { perConnection: connectionCpu / 1000 / some.total, perGb: bulkCpu / 1e6 / (bulk.total / 1e9) },
    };
  },
};
