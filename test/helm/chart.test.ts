// Checks of the chart that do not need Helm: `npm run test:helm` renders it and applies it to a real API server.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART, chartCopies, sourceHash } from '../../scripts/chart/manifests.mjs';
import { environmentName, FLAG_NAMES, FLAGS, type FlagName } from '../../src/cli/config/flags.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (...path: string[]) => readFileSync(join(CHART, ...path), 'utf8');

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

const SCHEMA = JSON.parse(read('values.schema.json')) as Schema;
const VALUES = parse(read('values.yaml')) as Record<string, unknown>;
/** Helm passes this value to every chart. */
const UNLISTED = 'global';

describe('values', () => {
  /** Paths of all values; a value of free form counts as one path. */
  function paths(schema: Schema, at = ''): string[] {
    if (schema.properties === undefined || schema.additionalProperties !== false) return [at];
    return Object.entries(schema.properties).flatMap(([key, each]) => paths(each, `${at}.${key}`));
  }

  function written(value: unknown, schema: Schema | undefined, at = ''): string[] {
    if (schema?.properties === undefined || schema.additionalProperties !== false) return [at];
    const entries = Object.entries((value ?? {}) as Record<string, unknown>);
    return entries.flatMap(([key, each]) => written(each, schema.properties?.[key], `${at}.${key}`));
  }

  test('are the same in the schema and in values.yaml: none is rejected and none is undocumented', () => {
    // Values with the Kubernetes default have no listed parts.
    const open = /^\.(global|seLinuxOptions|appArmorProfile|resources)(\.|$)/;
    const inSchema = paths(SCHEMA).filter((path) => !open.test(path));
    expect(inSchema.sort()).toEqual(
      written(VALUES, SCHEMA)
        .filter((path) => !open.test(path))
        .sort(),
    );
  });

  test('that are objects of the chart reject unknown keys', () => {
    const loose: string[] = [];
    const walk = (schema: Schema, at: string) => {
      if (schema.properties === undefined) return;
      if (schema.additionalProperties !== false) loose.push(at);
      for (const [key, each] of Object.entries(schema.properties)) walk(each, `${at}.${key}`);
    };
    walk(SCHEMA, '');
    expect(loose).toEqual([]);
  });

  test('are all described in the schema, and each group has a comment', () => {
    const silent: string[] = [];
    const walk = (schema: Schema, at: string) => {
      if (!schema.description) silent.push(at);
      for (const [key, each] of Object.entries(schema.properties ?? {})) walk(each, `${at}.${key}`);
    };
    walk(SCHEMA, '');
    expect(silent).toEqual([]);
    const lines = read('values.yaml').split('\n');
    const bare = Object.keys(VALUES).filter((key) => {
      const index = lines.findIndex((line) => line.startsWith(`${key}:`));
      const isCommented = (line: string | undefined) => line?.trim().startsWith('#') === true;
      const above = isCommented(lines[index - 1]);
      const inside = isCommented(lines[index + 1]);
      return !above && !inside;
    });
    expect(bare).toEqual(
      ['backendCheck', 'engine', 'podLabels', 'podAnnotations', 'serviceAccount'].filter((each) =>
        bare.includes(each),
      ),
    );
    expect(Object.keys(VALUES)).not.toContain(UNLISTED);
  });
});

describe('settings', () => {
  const template = read('templates', 'daemonset.yaml');
  const set = [...template.matchAll(/name: (ISTHMUS_\w+)\n\s+value: (.*)/g)].map(([, name, value]) => ({
    name: name as string,
    value: value as string,
  }));
  test('are environment variables of existing flags', () => {
    const known = new Set(FLAG_NAMES.map(environmentName));
    expect(set.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
    expect(set.length).toBeGreaterThan(25);
  });

  test('cover every flag that makes sense in a Pod', () => {
    const names = new Set(set.map(({ name }) => name));
    const missing = FLAG_NAMES.filter((flag) => !names.has(environmentName(flag)));
    // --node-name is NODE_NAME.
    const left = ['source', 'kubeconfig', 'node-name', 'take-over'];
    expect(missing.filter((flag) => !left.includes(flag))).toEqual([]);
  });

  test('have the choices of the program', () => {
    const offered = set.flatMap(({ name, value }) => {
      const path = /^\{\{ \.Values\.([\w.]+) \| quote \}\}$/
        .exec(value)?.[1]
        ?.replaceAll('.', '.properties.');
      let found: unknown = SCHEMA.properties;
      for (const part of path?.split('.') ?? []) found = (found as Record<string, unknown>)[part];
      const choices = (found as { enum?: readonly string[] }).enum;
      return choices === undefined ? [] : [{ name, choices: choices.join('|') }];
    });
    const known = FLAG_NAMES.map((flag) => ({
      name: environmentName(flag),
      choices: FLAGS[flag].placeholder,
    }));
    const differing = offered.filter(
      ({ name, choices }) => known.find((each) => each.name === name)?.choices !== choices,
    );
    expect(offered.map(({ name }) => name)).toContain('ISTHMUS_HEALTH');
    // The help has no room for the levels. The format `journal` makes no sense in a Pod.
    expect(differing.map(({ name }) => name)).toEqual(['ISTHMUS_LOG_LEVEL', 'ISTHMUS_LOG_FORMAT']);
  });

  test('have the defaults of the program, except for two settings of a Pod', () => {
    const differing: string[] = [];
    for (const { name, value } of set) {
      const path = /^\{\{ \.Values\.([\w.]+)( \| int64)? \| quote \}\}$/.exec(value)?.[1];
      if (path === undefined) continue;
      const flag = FLAG_NAMES.find((each) => environmentName(each) === name) as FlagName | undefined;
      if (flag === undefined) continue;
      let found: unknown = VALUES;
      for (const part of path.split('.')) found = (found as Record<string, unknown>)[part];
      if (String(found) !== (FLAGS[flag].fallback ?? '')) differing.push(`${flag} ${found}`);
    }
    // A process has no handover by default, because it needs a directory; a Pod has one.
    expect(differing).toEqual(['handover /run/isthmus-pod', 'log-format json']);
  });
});

describe('metrics', () => {
  const metrics = new Metrics({
    version: '0',
    engineStats: () => ({ connections: 0, pendingDials: 0, helloMemoryBytes: 0, netnsHandles: 0 }) as never,
    clusters: () => [],
    listeners: () => [],
    connectionsPerListener: () => new Map(),
    connectionsPerCluster: () => new Map(),
    ready: () => true,
    controlLagMs: () => 0,
    problems: () => [],
    kubernetes: () => null,
  });

  test.each(['alerts.yaml', 'dashboard.json'])('in %s all exist', async (file) => {
    const names = new Set(metrics.registry.metrics.map(({ name }) => name));
    const used = [...read('files', file).matchAll(/\b(isthmus_\w+|process_\w+|nodejs_\w+)/g)].map(
      ([name]) => name,
    );
    expect(used.length).toBeGreaterThan(8);
    const unknown = used.filter(
      (name) => !names.has(name.replace(/_(bucket|count|sum)$/, '')) && !names.has(name),
    );
    expect(unknown).toEqual([]);
  });

  const { rules } = parse(read('files', 'alerts.yaml')) as {
    rules: {
      alert: string;
      expr: string;
      for?: string;
      labels: { severity: string };
      annotations: Record<string, string>;
    }[];
  };

  test('alerts have a switch and a duration in the values each, and a threshold where the expression has one', () => {
    const { alerts } = (VALUES.monitoring as { prometheusRule: { alerts: Record<string, object> } })
      .prometheusRule;
    expect(Object.entries(alerts).map(([alert, set]) => [alert, Object.keys(set)])).toEqual(
      rules.map(({ alert, expr }) => [
        alert,
        ['enabled', 'for', ...(expr.includes('THRESHOLD') ? ['threshold'] : [])],
      ]),
    );
    expect(rules.filter((rule) => rule.for !== undefined)).toEqual([]);
    expect(rules.filter(({ annotations }) => JSON.stringify(annotations).includes('THRESHOLD'))).toEqual([]);
  });

  test('alerts explain the problem and what to do', () => {
    expect(rules.length).toBeGreaterThan(8);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Isthmus[A-Z]/);
      expect(['warning', 'critical']).toContain(labels.severity);
      expect(annotations.summary).toBeTruthy();
      expect(annotations.description).toMatch(/\.$/);
    }
  });

  test('alerts have a runbook each, and each runbook has an alert', () => {
    const base = (VALUES.monitoring as { prometheusRule: { runbookBaseUrl: string } }).prometheusRule
      .runbookBaseUrl;
    const pages = readdirSync(join(ROOT, base)).filter((name) => name !== 'README.md');
    expect(pages.sort()).toEqual(rules.map(({ alert }) => `${alert}.md`).sort());
    for (const page of pages) {
      const text = readFileSync(join(ROOT, base, page), 'utf8');
      expect([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)).toEqual([
        page.replace('.md', ''),
        ...['Meaning', 'Impact', 'Confirm', 'Act', 'Resolved when'],
      ]);
      expect(text.match(/^```sh /m), `${page} has no command that confirms it`).not.toBeNull();
    }
  });
});

test('the manifests belong to this chart (npm run manifests writes them)', () => {
  for (const file of ['deploy/manifests/isthmus.yaml', 'deploy/examples/kubernetes-source/rbac.yaml'])
    expect(readFileSync(join(ROOT, file), 'utf8').split('\n')[1]).toContain(`(${sourceHash()})`);
});

test('version and definitions equal those of the program (npm run manifests copies them)', () => {
  const copies = chartCopies();
  for (const [file, text] of copies) expect(readFileSync(file, 'utf8')).toBe(text);
  const names = [...copies.keys()].map((path) => path.split('/').at(-1));
  const present = readdirSync(join(CHART, 'files'), { recursive: true }).map(String);
  for (const path of present.filter((each) => each.startsWith('crds/')))
    expect(names).toContain(path.split('/').at(-1));
});
