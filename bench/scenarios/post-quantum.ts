// New connections with the hello of a current browser. A post-quantum key share makes it 2 KB, which is two packets on a wire. The
// scenario uses the MTU of a wire, because loopback would otherwise carry the hello in one packet.
import { CONNECTION_METRICS, measureConnections } from './new-connections.ts';
import { ONE_ROUTE, type Scenario } from './scenario.ts';

export const postQuantum: Scenario = {
  name: 'post-quantum',
  title: 'New connections, post-quantum hello in two segments',
  needs: { ...ONE_ROUTE, mtu: 1500 },
  metrics: CONNECTION_METRICS,
  seconds: ({ seconds, warmup }) => seconds + warmup,
  measure: (peer, context) => measureConnections(peer, context, 'post-quantum'),
};
