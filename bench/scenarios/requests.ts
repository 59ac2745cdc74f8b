// Small requests on persistent connections: 128 bytes in each direction, on 64 connections and on one.
import { ONE_ROUTE, type Scenario, withCpu } from './scenario.ts';

export const requests: Scenario = {
  name: 'requests',
  title: 'Small requests on kept connections',
  needs: ONE_ROUTE,
  metrics: [
    { name: 'perSecond', title: 'requests/s, 64 connections', unit: '/s', better: 'higher' },
    { name: 'single', title: 'requests/s, 1 connection', unit: '/s', better: 'higher' },
    { name: 'cpu', title: 'proxy CPU per request, 64 connections', unit: 'µs', better: 'lower' },
  ],
  seconds: ({ seconds, warmup }) => 1.5 * seconds + 2 * warmup,
  measure: async (peer, { load, site, timing }) => {
    const hello = site.hellos('classic');
    const [many, cpu] = await withCpu(peer, () => load.requests(peer.target, hello, timing, 64));
    const half = { ...timing, seconds: timing.seconds / 2 };
    const one = await load.requests(peer.target, hello, half, 1);
    return {
      values: {
        perSecond: many.perSecond,
        single: one.perSecond,
        // The CPU time includes the warm-up, but the count does not. The factor corrects that.
        cpu: (cpu / 1000 / many.completed) * (timing.seconds / (timing.seconds + timing.warmup)),
      },
    };
  },
};
