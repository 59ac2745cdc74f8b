// Bulk throughput, downstream and upstream, on 1 and on 16 connections. Neither end of the generator copies a byte.
import type { RunningPeer } from '../peers/peer.ts';
import {
  type BenchMetric,
  type Context,
  type Measurement,
  ONE_ROUTE,
  type Scenario,
  withCpu,
} from './scenario.ts';

const SHAPES = [
  { direction: 'down', connections: 1 },
  { direction: 'up', connections: 1 },
  { direction: 'down', connections: 16 },
  { direction: 'up', connections: 16 },
] as const;

export const BULK_METRICS: readonly BenchMetric[] = [
  ...SHAPES.map(
    ({ direction, connections }): BenchMetric => ({
      name: `${direction}${connections}`,
      title: `${direction}, ${connections} connection${connections > 1 ? 's' : ''}`,
      unit: 'GB/s',
      better: 'higher',
    }),
  ),
  { name: 'cpuDown16', title: 'proxy CPU per GB down, 16 connections', unit: 'ms', better: 'lower' },
  { name: 'cpuUp16', title: 'proxy CPU per GB up, 16 connections', unit: 'ms', better: 'lower' },
];

export async function measureBulk(peer: RunningPeer, { load, site, timing }: Context): Promise<Measurement> {
  const values: Record<string, number> = {};
  const hello = site.hellos('classic');
  for (const { direction, connections } of SHAPES) {
    const [result, cpu] = await withCpu(peer, () =>
      load.bulk(peer.target, hello, timing, direction, connections),
    );
    values[`${direction}${connections}`] = result.gbPerSecond;
    if (connections === 16)
      values[direction === 'down' ? 'cpuDown16' : 'cpuUp16'] = cpu / 1e6 / (result.total / 1e9);
  }
  return { values };
}

export const bulk: Scenario = {
  name: 'bulk',
  title: 'Bulk, zero-copy sender and receiver',
  needs: ONE_ROUTE,
  metrics: BULK_METRICS,
  seconds: ({ seconds, warmup }) => 4 * (seconds + warmup),
  measure: measureBulk,
};
