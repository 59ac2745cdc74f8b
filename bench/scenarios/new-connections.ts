// New connections per second in a closed loop of 64: connect, hello, 1 KB from the backend, FIN in both directions.
import type { RunningPeer } from '../peers/peer.ts';
import {
  type BenchMetric,
  type Context,
  type Measurement,
  ONE_ROUTE,
  type Scenario,
  withCpu,
} from './scenario.ts';

export const CONNECTION_METRICS: readonly BenchMetric[] = [
  { name: 'perSecond', title: 'new connections/s', unit: '/s', better: 'higher' },
  { name: 'cpu', title: 'proxy CPU per connection', unit: 'µs', better: 'lower' },
  { name: 'p50', title: 'connect→first byte p50, saturated', unit: 'µs', better: 'lower' },
  { name: 'p99', title: 'connect→first byte p99, saturated', unit: 'µs', better: 'lower' },
];

export async function measureConnections(
  peer: RunningPeer,
  { load, site, timing }: Context,
  kind: 'classic' | 'post-quantum' = 'classic',
): Promise<Measurement> {
  const [result, cpu] = await withCpu(peer, () =>
    load.connections(peer.target, site.hellos(kind), timing, { concurrency: 64 }),
  );
  return {
    values: {
      perSecond: result.perSecond,
      cpu: cpu / result.total / 1000,
      p50: result.latency.p50,
      p99: result.latency.p99,
    },
  };
}

export const newConnections: Scenario = {
  name: 'new-connections',
  title: 'New connections, closed loop',
  needs: ONE_ROUTE,
  metrics: CONNECTION_METRICS,
  seconds: ({ seconds, warmup }) => seconds + warmup,
  measure: (peer, context) => measureConnections(peer, context),
};
