// Bulk at MTU-sized segments: loopback with an MTU of 1500 and one segment per packet, as a wire without offloads carries it.
import { BULK_METRICS, measureBulk } from './bulk.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const bulkMtu: Scenario = {
  name: 'bulk-mtu',
  title: 'Bulk at MTU-sized segments',
  wish: { ...ONE_ROUTE, mtu: 1500 },
  metrics: BULK_METRICS,
  seconds: ({ seconds, warmup }) => 4 * (seconds + warmup),
  measure: measureBulk,
};
