// New connections with the hello of a current browser: a post-quantum key share makes it 2 KB.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const postQuantum: Scenario = {
  name: 'post-quantum',
  title: 'New connections, post-quantum hello',
  wish: ONE_ROUTE,
  metrics: CONNECTION_METRICS,
  seconds: ({ seconds, warmup }) => seconds + warmup,
  measure: (peer, context) => measureConnections(peer, context, 'post-quantum'),
};
