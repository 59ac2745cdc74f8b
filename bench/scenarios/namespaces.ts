// New connections into 1, 100 and 1000 network namespaces. Each proxy starts with exactly that many routes. Isthmus always runs health
// checks, so its number includes their cost at 1000 backends. HAProxy runs no health checks here.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

const COUNTS = [1, 100, 1000] as const;
const WARMUP_SECONDS = 1.5;

export const namespaces: Scenario = {
  name: 'namespaces',
  title: 'New connections into 1, 100 and 1000 namespaces',
  needs: { ...ONE_ROUTE, clusters: 1000, netns: 1000 },
  metrics: CONNECTION_METRICS,
  fresh: true,
  seconds: ({ seconds }) => seconds + WARMUP_SECONDS + 4,
  participants: (peers, site) =>
    peers
      .filter(({ entersNetns }) => entersNetns)
      .flatMap((peer) =>
        COUNTS.map((count) => ({ name: `${peer.name}@${count}`, peer, site: site.part(count) })),
      ),
  // The process has just started, and V8 has not compiled its code yet. A longer warm-up compensates for that.
  measure: (peer, context) =>
    measureConnections(peer, { ...context, timing: { ...context.timing, warmup: WARMUP_SECONDS } }),
};
