// Prometheus' text format, version 0.0.4. A metric is a declaration and a function that returns its samples at a scrape. The counts are
// plain numbers elsewhere: thousands of connections can end per second, and a scrape comes every 15 seconds.

export type MetricLabels = Readonly<Record<string, string | number>>;

/** The suffix is for the parts of a histogram, such as `_sum`. */
export type Sample = readonly [value: number, labels?: MetricLabels, suffix?: string];

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[];
  /** Returns each combination of labels once. Never throws: an error would cost the whole scrape. */
  readonly samples: () => Iterable<Sample> | Promise<Iterable<Sample>>;
}

export class MetricRegistry {
  readonly metrics: readonly Metric[];

  constructor(metrics: readonly Metric[]) {
    const names = new Set<string>();
    for (const { name } of metrics) {
      if (names.has(name)) throw new Error(`two metrics have the name ${name}`);
      names.add(name);
    }
    this.metrics = metrics;
  }

  async text(): Promise<string> {
    const sections = await Promise.all(this.metrics.map(section));
    return `${sections.join('\n\n')}\n`;
  }
}

/** A gauge or counter with one series and no labels. */
export const single = (
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: () => number,
): Metric => ({ name, type, help, samples: () => [[value()]] });

/** A counter with one label. */
export class LabelCounter {
  readonly metric: Metric;
  readonly #counts = new Map<string, number>();

  /** `values`: label values that have a series before their first event. */
  constructor(name: string, help: string, label: string, values: readonly string[] = []) {
    for (const value of values) this.#counts.set(value, 0);
    const samples = () => [...this.#counts].map(([value, count]): Sample => [count, { [label]: value }]);
    this.metric = { name, type: 'counter', help, labelNames: [label], samples };
  }

  add(value: string, count = 1): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + count);
  }
}

async function section({ name, type, help, samples }: Metric): Promise<string> {
  const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`];
  for (const [value, labels = {}, suffix = ''] of await samples()) {
    const pairs = Object.entries(labels).map(([label, each]) => `${label}="${labelText(each)}"`);
    lines.push(`${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`);
  }
  return lines.join('\n');
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const labelText = (value: string | number): string => escaped(String(value)).replaceAll('"', '\\"');
