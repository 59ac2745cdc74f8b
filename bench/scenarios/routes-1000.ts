// New connections with a table of 1000 routes into one netns. The generator uses the names in turn.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const routes1000: Scenario = {
  name: 'routes-1000',
  title: 'New connections, 1000 routes',
  needs: { ...ONE_ROUTE, clusters: 1000 },
  metrics: CONNECTION_METRICS,
  seconds: ({ seconds, warmup }) => seconds + warmup,
  measure: (peer, context) => measureConnections(peer, context),
};
