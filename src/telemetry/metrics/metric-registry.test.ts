import { expect, test } from 'vitest';
import { LabelCounter, type Metric, MetricRegistry, type Sample, single } from './metric-registry.ts';

const textOf = (...metrics: readonly Metric[]) => new MetricRegistry(metrics).text();
const gauge = (...samples: readonly Sample[]): Metric => ({
  name: 'a_gauge',
  type: 'gauge',
  help: 'Help',
  samples: () => samples,
});

test('a metric is two comments and one line per sample, with an empty line between metrics', async () => {
  const counter = new LabelCounter('a_total', 'Events', 'kind', ['rare']);
  counter.add('often');
  counter.add('often', 2);
  expect(await textOf(gauge([1, { a: 'x', b: 2 }], [0.5]), counter.metric)).toBe(
    [
      '# HELP a_gauge Help',
      '# TYPE a_gauge gauge',
      'a_gauge{a="x",b="2"} 1',
      'a_gauge 0.5',
      '',
      '# HELP a_total Events',
      '# TYPE a_total counter',
      'a_total{kind="rare"} 0',
      'a_total{kind="often"} 3',
      '',
    ].join('\n'),
  );
});

test('a metric without samples keeps its comments', async () => {
  expect(await textOf(gauge())).toBe('# HELP a_gauge Help\n# TYPE a_gauge gauge\n');
});

test('a quote, a backslash and a line feed in a label are escaped, and in the help the last two', async () => {
  const text = await textOf({ ...gauge([1, { a: '"\\\n' }]), help: 'a "\\\n' });
  expect(text).toContain('a_gauge{a="\\"\\\\\\n"} 1\n');
  expect(text).toContain('# HELP a_gauge a "\\\\\\n\n');
});

test('samples may arrive later', async () => {
  expect(await textOf({ ...gauge(), samples: async () => [[7]] })).toContain('\na_gauge 7\n');
});

test('values are read at each scrape', async () => {
  let value = 1;
  const registry = new MetricRegistry([single('gauge', 'a_gauge', 'Help', () => value)]);
  expect(await registry.text()).toContain('\na_gauge 1\n');
  value = 2;
  expect(await registry.text()).toContain('\na_gauge 2\n');
});

test('a second metric of the same name is rejected', () => {
  expect(() => new MetricRegistry([gauge(), gauge()])).toThrow('two metrics have the name a_gauge');
});
