// New connections with the hello of a current browser: a post-quantum key share makes it 2 KB, which is two packets on a wire. So the
// MTU is that of a wire, or loopback would bring it in one.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const postQuantum: Scenario = {
  name: 'post-quantum',
  title: 'New connections, post-quantum hello in two segments',
  wish: { ...ONE_ROUTE, mtu: 1500 },
  metrics: CONNECTION_METRICS,
  seconds: ({ seconds, warmup }) => seconds + warmup,
  measure: (peer, context) => measureConnections(peer, context, 'post-quantum'),
};
