// Two threads per proxy on both cores, without pinning. Load, backend and proxy compete, as they would on a small machine.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const threads2: Scenario = {
  name: 'threads-2',
  title: 'New connections, two threads, both cores',
  needs: { ...ONE_ROUTE, threads: 2 },
  metrics: CONNECTION_METRICS,
  seconds: ({ seconds, warmup }) => seconds + warmup,
  measure: (peer, context) => measureConnections(peer, context),
};
