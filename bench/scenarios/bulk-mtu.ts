// Bulk throughput with MTU-sized segments: loopback has an MTU of 1500 and carries one segment per packet, like a wire without offloads.
import { BULK_METRICS, measureBulk } from './bulk.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const bulkMtu: Scenario = {
  name: 'bulk-mtu',
  title: 'Bulk at MTU-sized segments',
  needs: { ...ONE_ROUTE, mtu: 1500 },
  metrics: BULK_METRICS,
  seconds: ({ seconds, warmup }) => 4 * (seconds + warmup),
  measure: measureBulk,
};
