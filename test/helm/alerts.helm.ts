// Alerts and dashboard, judged by Prometheus itself (promtool): it loads the rules, each alert fires when it should and is silent when it
// should be, and every query of the dashboard finds something in what /metrics of the program says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHART } from '../../scripts/manifests.mjs';
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

test('Prometheus has nothing to say against /metrics', () => {
  expect(promtool(['check', 'metrics'], METRICS)).toEqual({ code: 0, said: '' });
});

test.each([{}, { alertLabels: { team: 'cloud', severity: 'page' } }])(
  'Prometheus loads the alerts with %o, and has nothing to say against them',
  (values) => {
    const { code, said } = checkRules(rulesOf(values));
    expect(said).toContain(`SUCCESS: ${RULES.length} rules found`);
    expect(code).toBe(0);
  },
);

test('Prometheus would say so: a query with a mistake is no rule', () => {
  const { code, said } = checkRules([{ alert: 'Broken', expr: 'sum by node (isthmus_ready)' }]);
  expect(said).toContain('unexpected identifier');
  expect(code).not.toBe(0);
});

describe('alerts', () => {
  const summaryOf = (text: string, labels: Readonly<Record<string, string>>, value: string) =>
    text
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => labels[name] ?? expect.fail(name))
      .replaceAll('{{ $value }}', value);

  test.each(ALERT_CASES)('$alert, when $when', ({ alert, series, at, fires }) => {
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

  test('are all there, each with a case in which it fires and one in which it does not', () => {
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

  test('are tried with series that the program and the monitors of the chart make', () => {
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

  test('has no variable but the data source and the interval', () => {
    expect(queries.length).toBeGreaterThan(20);
    expect(queries.filter(({ expr }) => expr.includes('$'))).toEqual([]);
    const { code, said } = checkRules(queries.map(({ expr }, i) => ({ record: `panel:${i}`, expr })));
    expect(said).toContain(`SUCCESS: ${queries.length} rules found`);
    expect(code).toBe(0);
  });

  test.each(queries)('finds what it asks for, with every label of its legend: $title', ({ expr, legend }) => {
    const exp_samples = [{ labels: '{}', value: 1 }];
    const asked = [
      `count(${expr}) > bool 0`,
      // What has the label empty is like the vector, and left out.
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

  test('a label that no metric has would be noticed', () => {
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

test('labels of the target are those that the monitors of the chart give', () => {
  const monitor = only(rendered({ monitoring: { podMonitor: { enabled: true } } }), 'PodMonitor');
  const [endpoint] = monitor.spec.podMetricsEndpoints;
  expect(endpoint.honorLabels).toBe(true);
  expect(endpoint.relabelings).toEqual([
    { sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' },
  ]);
  expect(Object.keys(TARGET_LABELS)).toContain('node');
});

test('two Pods that share a port are one target of either monitor, so that nothing is counted twice while the old one drains', () => {
  const pods = only(rendered(MATRIX['a PodMonitor where Pods declare no ports']), 'PodMonitor');
  const service = only(rendered(MATRIX['a ServiceMonitor where two Pods share a port']), 'ServiceMonitor');
  for (const [{ relabelings }] of [pods.spec.podMetricsEndpoints, service.spec.endpoints])
    expect(relabelings.at(-1)).toEqual({ action: 'labeldrop', regex: 'pod|container' });
  for (const { expr } of RULES) expect(expr).not.toMatch(/\b(pod|container)\b/);
  expect(readFileSync(join(CHART, 'files', 'dashboard.json'), 'utf8')).not.toMatch(
    /by \([^)]*\b(pod|container)\b/,
  );
});
