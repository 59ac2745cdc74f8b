// New connections spread over 1, 100 and 1000 network namespaces; each proxy is started with exactly so many routes.
// HAProxy has no health checks here, Isthmus always has: what those cost at 1000 backends is in its number.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

const COUNTS = [1, 100, 1000] as const;
const WARMUP_SECONDS = 1.5;

export const namespaces: Scenario = {
  name: 'namespaces',
  title: 'New connections into 1, 100 and 1000 namespaces',
  wish: { ...ONE_ROUTE, clusters: 1000, netns: 1000 },
  metrics: CONNECTION_METRICS,
  fresh: true,
  seconds: ({ seconds }) => seconds + WARMUP_SECONDS + 4,
  participants: (peers, site) =>
    peers
      .filter(({ entersNetns }) => entersNetns)
      .flatMap((peer) =>
        COUNTS.map((count) => ({ name: `${peer.name}@${count}`, peer, site: site.part(count) })),
      ),
  // A process that was just started: its code is not compiled yet.
  measure: (peer, context) =>
    measureConnections(peer, { ...context, timing: { ...context.timing, warmup: WARMUP_SECONDS } }),
};
