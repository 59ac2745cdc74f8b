// A histogram of durations with at most one label: an observation costs one comparison per bucket, and builds no string.
import type { Metric, Sample } from './metric-registry.ts';

export interface DurationHistogramOptions {
  readonly name: string;
  readonly help: string;
  /** null: one series without a label, which exists before its first observation. */
  readonly label: string | null;
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[];
}

interface Series {
  /** One count per bucket, and one for longer durations. */
  readonly counts: number[];
  seconds: number;
}

export class DurationHistogram {
  readonly metric: Metric;
  readonly #options: DurationHistogramOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: DurationHistogramOptions) {
    this.#options = options;
    const { name, help, label, buckets } = options;
    if (label === null) this.#seriesOf('');
    const labelNames = label === null ? [] : [label];
    this.metric = { name, type: 'histogram', help, labelNames, buckets, samples: () => this.#samples() };
  }

  /** `value`: of the label. */
  observe(seconds: number, value = ''): void {
    const series = this.#seriesOf(value);
    series.seconds += seconds;
    let bucket = 0;
    for (const bound of this.#options.buckets) {
      if (seconds <= bound) break;
      bucket += 1;
    }
    series.counts[bucket]! += 1;
  }

  #seriesOf(value: string): Series {
    let series = this.#series.get(value);
    if (series === undefined) {
      series = { counts: new Array<number>(this.#options.buckets.length + 1).fill(0), seconds: 0 };
      this.#series.set(value, series);
    }
    return series;
  }

  #samples(): Sample[] {
    const { label, buckets } = this.#options;
    return [...this.#series].flatMap(([value, { counts, seconds }]) => {
      const labels = label === null ? {} : { [label]: value };
      let below = 0;
      const rows = counts.map((count, index): Sample => {
        below += count;
        return [below, { le: buckets[index] ?? '+Inf', ...labels }, '_bucket'];
      });
      return [...rows, [seconds, labels, '_sum'], [below, labels, '_count']];
    });
  }
}
