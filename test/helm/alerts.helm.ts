// Alerts and dashboard, checked by Prometheus itself (promtool): it loads the rules, each alert fires exactly when it should, and every
// dashboard query finds data in the program's /metrics.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHART } from '../../scripts/chart/manifests.mjs';
import { ALERT_CASES } from './alert-cases.ts';
import { checkRules, promtool, type Rule, testRules } from './promtool.ts';
import { only, rendered } from './rendering.ts';
import { sampleMetrics, seriesOf, seriesText, TARGET_LABELS } from './sample-metrics.ts';
import { MATRIX } from './value-matrix.ts';

const rulesOf = (values: object): readonly Rule[] =>
  only(rendered({ monitoring: { prometheusRule: { enabled: true, ...values } } }), 'PrometheusRule').spec
    .groups[0].rules;
const RULES = rulesOf({});
const METRICS = await sampleMetrics();
const SERIES = seriesOf(METRICS);

test('promtool accepts /metrics without a warning', () => {
  expect(promtool(['check', 'metrics'], METRICS)).toEqual({ code: 0, said: '' });
});

test.each([{}, { alertLabels: { team: 'cloud', severity: 'page' } }])(
  'Prometheus loads the alerts with %o without a warning',
  (values) => {
    const { code, said } = checkRules(rulesOf(values));
    expect(said).toContain(`SUCCESS: ${RULES.length} rules found`);
    expect(code).toBe(0);
  },
);

test.each([
  ['the repository by default', {}, 'docs/how-to/runbooks'],
  ['the site', { runbookBaseUrl: 'https://wiki.example/isthmus/' }, 'https://wiki.example/isthmus'],
])('every alert names its runbook in %s', (_place, values, base) => {
  const rules = rulesOf(values);
  expect(rules.map(({ annotations }) => annotations?.runbook_url)).toEqual(
    rules.map(({ alert }) => `${base}/${alert}.md`),
  );
});

test('promtool rejects a rule with an invalid query', () => {
  const { code, said } = checkRules([{ alert: 'Broken', expr: 'sum by node (isthmus_ready)' }]);
  expect(said).toContain('unexpected identifier');
  expect(code).not.toBe(0);
});

describe('alerts', () => {
  const summaryOf = (text: string, labels: Readonly<Record<string, string>>, value: string) =>
    text
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => labels[name] ?? expect.fail(name))
      .replaceAll('{{ $value }}', value);

  test.each(ALERT_CASES)('$alert is correct when $when', ({ alert, series, at, fires }) => {
    const { labels: own = {}, annotations = {} } = RULES.find((rule) => rule.alert === alert) ?? {};
    const exp_alerts = fires.map(({ labels, value = '' }) => ({
      exp_labels: { ...own, ...labels },
      exp_annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, text]) => [key, summaryOf(text, labels, value)]),
      ),
    }));
    const { code, said } = testRules(RULES, [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
        alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts }],
      },
    ]);
    expect(said).toMatch(/SUCCESS\s*$/);
    expect(code).toBe(0);
  });

  test('all have a case in which they fire and a case in which they do not', () => {
    const names = RULES.map(({ alert }) => alert).sort();
    const named = (isFiring: boolean) =>
      [
        ...new Set(
          ALERT_CASES.filter(({ fires }) => fires.length > 0 === isFiring).map(({ alert }) => alert),
        ),
      ].sort();
    expect(named(true)).toEqual(names);
    expect(named(false)).toEqual(names);
  });

  test('are tested with series that the program and the monitors of the chart produce', () => {
    const known = new Map(SERIES.map(({ name, labels }) => [name, new Set(Object.keys(labels))]));
    const unknown = ALERT_CASES.flatMap(({ series }) => Object.keys(series)).filter((each) => {
      const [, name = '', inside = ''] = /^(\w+)\{(.*)\}$/.exec(each) ?? [];
      return [...inside.matchAll(/(\w+)=/g)].some(
        ([, label]) => known.get(name)?.has(label as string) !== true,
      );
    });
    expect(unknown).toEqual([]);
  });
});

describe('the dashboard', () => {
  interface Panel {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
    readonly panels?: readonly Panel[];
  }
  const { panels } = JSON.parse(readFileSync(join(CHART, 'files', 'dashboard.json'), 'utf8')) as {
    panels: Panel[];
  };
  const all = (some: readonly Panel[]): readonly Panel[] =>
    some.flatMap((panel) => [panel, ...all(panel.panels ?? [])]);
  const queries = all(panels).flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat = '' }) => ({
      title: `${title}: ${expr}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
      legend: [...legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label]) => label as string),
    })),
  );
  const input_series = SERIES.map((each) => ({
    series: seriesText(each),
    values: each.grows ? `${each.value}+30x10` : `${each.value}x10`,
  }));

  test('has no variables except the data source and the interval', () => {
    expect(queries.length).toBeGreaterThan(20);
    expect(queries.filter(({ expr }) => expr.includes('$'))).toEqual([]);
    const { code, said } = checkRules(queries.map(({ expr }, i) => ({ record: `panel:${i}`, expr })));
    expect(said).toContain(`SUCCESS: ${queries.length} rules found`);
    expect(code).toBe(0);
  });

  test.each(queries)('finds data, with every label of its legend, for $title', ({ expr, legend }) => {
    const exp_samples = [{ labels: '{}', value: 1 }];
    const asked = [
      `count(${expr}) > bool 0`,
      // A series with an empty label matches the vector and is excluded.
      ...legend.map(
        (label) => `count(group by (${label}) (${expr}) unless on (${label}) vector(1)) > bool 0`,
      ),
    ];
    const { code, said } = testRules(
      [],
      [
        {
          interval: '1m',
          input_series,
          promql_expr_test: asked.map((each) => ({ expr: each, eval_time: '9m', exp_samples })),
        },
      ],
    );
    expect(said).toMatch(/SUCCESS\s*$/);
    expect(code).toBe(0);
  });

  test('a query with an unknown label fails the check', () => {
    const { said } = testRules(
      [],
      [
        {
          interval: '1m',
          input_series,
          promql_expr_test: [
            {
              expr: 'count(group by (tenant) (isthmus_ready) unless on (tenant) vector(1)) > bool 0',
              eval_time: '9m',
              exp_samples: [{ labels: '{}', value: 1 }],
            },
          ],
        },
      ],
    );
    expect(said).toContain('FAILED');
  });
});

test('the target labels are those that the monitors of the chart set', () => {
  const monitor = only(rendered(MATRIX['a PodMonitor where Pods declare ports']), 'PodMonitor');
  const [endpoint] = monitor.spec.podMetricsEndpoints;
  expect(endpoint.honorLabels).toBe(true);
  expect(endpoint.relabelings).toEqual([
    { sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' },
  ]);
  expect(Object.keys(TARGET_LABELS)).toContain('node');
});

test('two Pods that share a port are one target of either monitor, so no metric counts twice during a drain', () => {
  const pods = only(rendered(MATRIX['a PodMonitor where Pods declare no ports']), 'PodMonitor');
  const service = only(rendered(MATRIX['a ServiceMonitor where two Pods share a port']), 'ServiceMonitor');
  for (const [{ relabelings }] of [pods.spec.podMetricsEndpoints, service.spec.endpoints])
    expect(relabelings.at(-1)).toEqual({ action: 'labeldrop', regex: 'pod|container' });
  for (const { expr } of RULES) expect(expr).not.toMatch(/\b(pod|container)\b/);
  expect(readFileSync(join(CHART, 'files', 'dashboard.json'), 'utf8')).not.toMatch(
    /by \([^)]*\b(pod|container)\b/,
  );
});
