// A histogram with one label: an observation costs one comparison per bucket. prom-client's own histogram builds a label string at
// every observation, which cost more than all other work for a connection on this thread. The registry reads it like any metric.
import type { Registry } from './prometheus.ts';

export interface DurationHistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[];
}

interface Series {
  /** One count per bucket, and one for longer durations. */
  readonly counts: number[];
  seconds: number;
}

export class DurationHistogram {
  readonly #options: DurationHistogramOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: DurationHistogramOptions, registry: Registry) {
    this.#options = options;
    const { name, help, label, buckets } = options;
    const get = async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: this.#samples(),
    });
    // The registry uses only `name` and `get()` of a metric, but its types accept only prom-client's own classes. The reference page
    // reads the rest, under the names that prom-client uses.
    const metric = { name, get, labelNames: [label], buckets };
    registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  observe(label: string, seconds: number): void {
    let series = this.#series.get(label);
    if (series === undefined) {
      series = { counts: new Array<number>(this.#options.buckets.length + 1).fill(0), seconds: 0 };
      this.#series.set(label, series);
    }
    series.seconds += seconds;
    let bucket = 0;
    for (const bound of this.#options.buckets) {
      if (seconds <= bound) break;
      bucket += 1;
    }
    series.counts[bucket]! += 1;
  }

  #samples(): object[] {
    const { name, label, buckets } = this.#options;
    return [...this.#series].flatMap(([value, { counts, seconds }]) => {
      const shared = { [label]: value };
      let below = 0;
      const rows = counts.map((count, index) => {
        below += count;
        const le = buckets[index] ?? '+Inf';
        return { metricName: `${name}_bucket`, labels: { le, ...shared }, value: below };
      });
      return [
        ...rows,
        { metricName: `${name}_sum`, labels: shared, value: seconds },
        { metricName: `${name}_count`, labels: shared, value: below },
      ];
    });
  }
}
