// Runs promtool, Prometheus' own checker, for tests: rules, queries over given series, and /metrics output.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PromtoolResult {
  readonly code: number;
  /** The output of both streams. */
  readonly said: string;
}

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One promtool test: input series and expected results. See Prometheus' documentation, "Unit testing for rules". */
export interface RuleTest {
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly alert_rule_test?: readonly {
    readonly eval_time: string;
    readonly alertname: string;
    readonly exp_alerts: readonly {
      readonly exp_labels: Readonly<Record<string, string>>;
      readonly exp_annotations: Readonly<Record<string, string>>;
    }[];
  }[];
  readonly promql_expr_test?: readonly {
    readonly expr: string;
    readonly eval_time: string;
    readonly exp_samples: readonly { readonly labels: string; readonly value: number }[];
  }[];
}

const MOST_MS = 30_000;

export function promtool(args: readonly string[], input = ''): PromtoolResult {
  const { ISTHMUS_PROMTOOL: program } = process.env;
  if (program === undefined)
    throw new Error('no promtool: these tests run with `npm run test:helm`, which builds it');
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8', timeout: MOST_MS });
  return { code: status ?? -1, said: `${stdout}${stderr}` };
}

/** Calls `use` with files of these contents, written as JSON, which is valid YAML. Deletes the files afterwards. */
function withFiles(
  contents: readonly unknown[],
  use: (...files: readonly string[]) => PromtoolResult,
): PromtoolResult {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-promtool-'));
  try {
    return use(
      ...contents.map((content, index) => {
        const file = join(directory, `${index}.yaml`);
        writeFileSync(file, JSON.stringify(content));
        return file;
      }),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const groups = (rules: readonly Rule[]) => ({ groups: [{ name: 'isthmus', rules }] });

/** Whether Prometheus would load the rules; style warnings count as failures. */
export function checkRules(rules: readonly Rule[]): PromtoolResult {
  return withFiles([groups(rules)], (file) =>
    promtool(['check', 'rules', '--lint=all', '--lint-fatal', file as string]),
  );
}

export function testRules(rules: readonly Rule[], tests: readonly RuleTest[]): PromtoolResult {
  const suite = { rule_files: ['0.yaml'], evaluation_interval: '1m', tests };
  return withFiles([groups(rules), suite], (_rules, file) => promtool(['test', 'rules', file as string]));
}
