// The sizes of functions in src: a function that needs a second reading is split or gets a table. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

const src = fileURLToPath(new URL('../../src', import.meta.url));
const MAX_LINES = 60;
const MAX_BRANCHES = 15;

/** The larger functions, each with the reason why it is not split. A function that becomes smaller loses its row. */
const LARGE_FUNCTIONS: Readonly<Record<string, string>> = {
  'app.ts: constructor': 'it wires every part of the main thread once, and branches almost nowhere',
  'control-thread/control-link.ts: receive': 'a flat switch: one case for each message of the control thread',
  'control-thread/control-kubernetes.ts: constructor': 'it wires every part that needs Kubernetes once',
  'control/apply/kubeconfig-write.ts: writeKubeconfig': 'one check after the other, before one write',
  'control/plan/status-events.ts: statusEvents': 'one rule after the other, each for one kind of Event',
  'proxy/connection-record.ts: levelOf': 'a flat switch: one case for each outcome of a connection',
  'proxy/proxy-protocol.ts: parseBinary':
    'one check for each byte of the header, in the order of the specification',
  'routing/changes.ts: isEqual':
    'one line for each kind of value; every turn calls it for every part of its state',
  'tls/client-hello.ts: checkFixedField':
    'a flat switch: one case for each field, in the order of the message',
};

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Size {
  readonly name: string;
  readonly lines: number;
  branches: number;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
const nameOf = (value: unknown): string | undefined => (value as { name?: string } | null)?.name;

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];
const BRANCHES =
  /^(IfStatement|ConditionalExpression|LogicalExpression|For\w*Statement|While\w*|DoWhile\w*|CatchClause)$/;
const isBranch = ({ type, test: condition }: Node): boolean =>
  BRANCHES.test(type) || (type === 'SwitchCase' && condition !== null);

/**
 * The size of every function. Its lines contain those of the functions inside it; its branches do not. A function without a name has
 * that of the variable, the method or the function around it.
 */
function functionSizes(source: string): readonly Size[] {
  const found: Size[] = [];
  const linesOf = ({ start, end }: Node) => source.slice(start, end).split('\n').length;
  const visit = (value: unknown, around: Size | null, name: string): void => {
    if (typeof value !== 'object' || value === null) return;
    let inner = around;
    let innerName = name;
    if (isNode(value)) {
      innerName = nameOf(value.id) ?? nameOf(value.key) ?? name;
      if (FUNCTIONS.includes(value.type)) {
        inner = { name: innerName, lines: linesOf(value), branches: 0 };
        found.push(inner);
      } else if (around !== null && isBranch(value)) around.branches += 1;
    }
    for (const child of Object.values(value)) visit(child, inner, innerName);
  };
  visit(parseAst(source, { lang: 'ts' }).body, null, '');
  return found;
}

describe('the size of a function', () => {
  test.each<[title: string, source: string, branches: number]>([
    ['counts conditions', 'function a(b) { if (b) return b ? 1 : 2; return b && 3; }', 3],
    [
      'counts loops and catch',
      'function a(b) { for (const c of b) try { c(); } catch { while (b) b(); } }',
      3,
    ],
    [
      'counts cases, but not the default',
      'function a(b) { switch (b) { case 1: case 2: b(); default: } }',
      2,
    ],
    ['leaves out the functions inside it', 'function a(b) { return () => (b ? 1 : 2); }', 0],
  ])('%s', (_title, source, branches) => {
    expect(functionSizes(source)[0]).toMatchObject({ name: 'a', branches });
  });

  test('contains all its lines', () => {
    expect(functionSizes('function a() {\n  return () => {\n  };\n}')).toMatchObject([
      { name: 'a', lines: 4 },
      { name: 'a', lines: 2 },
    ]);
  });

  test.each(['const a = () => 1;', 'class B { a() {} }', 'class B { #a() {} }', 'const b = { a: () => 1 };'])(
    'has a name in %s',
    (source) => {
      expect(functionSizes(source).map(({ name }) => name)).toEqual(['a']);
    },
  );
});

test(`no function of src has more than ${MAX_LINES} lines or ${MAX_BRANCHES} branches without a reason`, () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/\.(test|conformance)\.ts$/.test(path),
  );
  expect(files.length).toBeGreaterThan(200);
  const large = files.flatMap((path) =>
    functionSizes(readFileSync(join(src, path), 'utf8'))
      .filter(({ lines, branches }) => lines > MAX_LINES || branches > MAX_BRANCHES)
      .map(({ name }) => `${path}: ${name}`),
  );
  expect(large.sort()).toEqual(Object.keys(LARGE_FUNCTIONS).sort());
});
