// Measures connect→first byte at a fixed rate: half of HAProxy's maximum in the closed loop. The loop is open: arrivals have
// exponential gaps, equal for all peers. Latency counts from the intended start, which avoids coordinated omission.
import { isDisturbed, watchMachine } from '../harness/disturbance.ts';
import { pause } from '../harness/processes.ts';
import { type BenchMetric, ONE_ROUTE, type Scenario, withCpu } from './scenario.ts';

const PROBES = 10;
const FALLBACK_RATE = 4000;

/** Every latency of an open loop includes the generator's lag. That part does not come from the proxy. */
export const GENERATOR_LAG: BenchMetric = {
  name: 'lag99',
  title: 'how late the generator itself was, p99',
  unit: 'µs',
  better: 'lower',
  incomparable: true,
};

export const latency: Scenario = {
  name: 'latency',
  title: 'Latency of new connections, open loop at half of HAProxy’s maximum rate',
  needs: ONE_ROUTE,
  metrics: [
    { name: 'p50', title: 'connect→first byte p50', unit: 'µs', better: 'lower' },
    { name: 'p99', title: 'connect→first byte p99', unit: 'µs', better: 'lower' },
    { name: 'p999', title: 'connect→first byte p999', unit: 'µs', better: 'lower' },
    { name: 'cpu', title: 'proxy CPU per connection', unit: 'µs', better: 'lower' },
    GENERATOR_LAG,
  ],
  seconds: ({ seconds, warmup }) => 2 * seconds + warmup,
  prepare: async (running, { load, site, timing, facts }) => {
    // Without HAProxy, the first other proxy sets the rate.
    const reference =
      running.find(({ name }) => name === 'haproxy') ?? running.find(({ name }) => name !== 'direct');
    if (reference === undefined) return;
    // The maximum is the best of several probes: a disturbed probe is always too low and would make the task too easy.
    let most = 0;
    for (let probe = 0; probe < PROBES; probe += 1) {
      const since = watchMachine(new Set());
      const { perSecond } = await load.connections(reference.target, site.hellos('classic'), timing);
      most = Math.max(most, perSecond);
      if (probe >= 2 && !isDisturbed(since())) break;
      await pause(300);
    }
    facts.set('rate', Math.round(most / 2));
  },
  measure: async (peer, { load, site, timing, facts }) => {
    const longer = { ...timing, seconds: 2 * timing.seconds };
    const [result, cpu] = await withCpu(peer, () =>
      load.connections(peer.target, site.hellos('classic'), longer, {
        rate: facts.get('rate') ?? FALLBACK_RATE,
      }),
    );
    const { p50, p99, p999, curve } = result.latency;
    return { values: { p50, p99, p999, cpu: cpu / 1000 / result.total, lag99: result.lag.p99 }, curve };
  },
};
