// Measures the proxy below saturation: CPU and latency of a connection at a modest fixed rate, and CPU per GB on 4 connections.
// `bulk` and `new-connections` show the same values at full load.
import { GENERATOR_LAG } from './latency.ts';
import { ONE_ROUTE, type Scenario, withCpu } from './scenario.ts';

const RATE = 2000;

export const cpu: Scenario = {
  name: 'cpu',
  title: `Far from its limit: ${RATE} new connections/s, open loop`,
  needs: ONE_ROUTE,
  metrics: [
    { name: 'perConnection', title: `CPU per connection at ${RATE}/s`, unit: 'µs', better: 'lower' },
    { name: 'p50', title: `connect→first byte p50 at ${RATE}/s`, unit: 'µs', better: 'lower' },
    { name: 'p99', title: `connect→first byte p99 at ${RATE}/s`, unit: 'µs', better: 'lower' },
    { name: 'p999', title: `connect→first byte p999 at ${RATE}/s`, unit: 'µs', better: 'lower' },
    { ...GENERATOR_LAG, title: `${GENERATOR_LAG.title}, at ${RATE}/s` },
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
    const { p50, p99, p999 } = some.latency;
    const [bulk, bulkCpu] = await withCpu(peer, () => load.bulk(peer.target, hello, timing, 'down', 4));
    return {
      values: {
        perConnection: connectionCpu / 1000 / some.total,
        p50,
        p99,
        p999,
        lag99: some.lag.p99,
        perGb: bulkCpu / 1e6 / (bulk.total / 1e9),
      },
    };
  },
};
