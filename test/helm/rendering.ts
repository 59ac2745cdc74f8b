// Renders the chart with Helm, for tests: the objects, or Helm's error.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CHART } from '../../scripts/chart/manifests.mjs';

export type Values = Readonly<Record<string, unknown>>;

// biome-ignore lint/suspicious/noExplicitAny: objects of any kind are looked into, and a wrong path fails the test
export type Rendered = any;

export function helm(...args: readonly string[]): string {
  const { ISTHMUS_HELM: program } = process.env;
  if (program === undefined)
    throw new Error('no Helm: these tests run with `npm run test:helm`, which builds it');
  return execFileSync(program, [...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Calls `use` with a file of the values, and deletes the file afterwards. */
function withFile<T>(values: Values, use: (file: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-values-'));
  const file = join(directory, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  try {
    return use(file);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const NAMESPACE = 'magnum-system';

export interface RenderOptions {
  readonly chart?: string;
  readonly namespace?: string;
  /** The name of the release. */
  readonly release?: string;
  /** Also the objects that exist during `helm uninstall` only. */
  readonly withHooks?: boolean;
}

export function renderedText(
  values: Values = {},
  { chart = CHART, namespace = NAMESPACE, release = 'isthmus', withHooks = false }: RenderOptions = {},
): string {
  const hooks = withHooks ? [] : ['--no-hooks'];
  const args = [release, '--namespace', namespace, ...hooks, chart];
  return withFile(values, (file) => helm('template', ...args, '--values', file));
}

export function rendered(values: Values = {}, options: RenderOptions = {}): readonly Rendered[] {
  return parseAllDocuments(renderedText(values, options))
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0];
      return document.toJS();
    })
    .filter((object) => object !== null);
}

/** The error of Helm for values that it rejects. */
export function refusal(values: Values): string {
  return withFile(values, (file) => {
    const { ISTHMUS_HELM: program = '' } = process.env;
    const args = ['template', 'isthmus', '--namespace', NAMESPACE, CHART, '--values', file];
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (status === 0) throw new Error(`Helm takes ${JSON.stringify(values)}`);
    return stderr;
  });
}

export function only(objects: readonly Rendered[], kind: string): Rendered {
  const found = objects.filter((object) => object.kind === kind);
  if (found.length !== 1) throw new Error(`${found.length} objects of kind ${kind}`);
  return found[0];
}

/** The container's variables and arguments as the program receives them, without `fieldRef`s. */
export function settingsOf(daemonSet: Rendered): { args: string[]; environment: Record<string, string> } {
  const [container] = daemonSet.spec.template.spec.containers;
  const plain = container.env.filter(({ value }: Rendered) => value !== undefined);
  return {
    args: container.args.slice(1),
    // The kubelet expands the variable.
    environment: Object.fromEntries(
      plain.map(({ name, value }: Rendered) => [name, value.replace('$(POD_TEMPLATE_GENERATION)', '1')]),
    ),
  };
}
