// State in modules: src/control has none. A cache is part of the TurnCache that the loop passes on. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

const control = fileURLToPath(new URL('../../src/control', import.meta.url));

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** The names of constructors that run when the module is loaded, which excludes the bodies of functions and classes. */
function constructed(node: Node): string[] {
  if (/Function|Class(Declaration|Expression)/.test(node.type)) return [];
  const own = node.type === 'NewExpression' ? [String((node.callee as Node).name)] : [];
  return [...own, ...Object.values(node).flat().filter(isNode).flatMap(constructed)];
}

/** Names of variables that a module keeps and may change. A Map or Set is a constant only if its type says so. */
function moduleState(source: string): string[] {
  const { body } = parseAst(source, { lang: 'ts' }) as unknown as { readonly body: readonly Node[] };
  return body.flatMap((statement) => {
    const declared = (
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    ) as Node | null;
    if (declared?.type !== 'VariableDeclaration') return [];
    return (declared.declarations as readonly Node[]).flatMap(({ id, init }) => {
      const { name, start, end } = id as Node & { readonly start: number; readonly end: number };
      if (declared.kind !== 'const') return [String(name)];
      const isTyped = source.slice(start, end).includes(':');
      const made = isNode(init) ? constructed(init) : [];
      const isState = made.some((each) => each.startsWith('Weak') || (!isTyped && /^(Map|Set)$/.test(each)));
      return isState ? [String(name)] : [];
    });
  });
}

test.each<[source: string, found: string[]]>([
  ['let a = 0;', ['a']],
  ['export let a: number | null = null;', ['a']],
  ['const a = new WeakMap<object, number>();', ['a']],
  ['const a: { b: WeakMap<object, number> } = { b: new WeakMap() };', ['a']],
  ['export const a = new Map<string, number>();', ['a']],
  ['const a: ReadonlySet<string> = new Set(["b"]);', []],
  ['const newCache = () => new WeakMap<object, number>();', []],
  ['class A { readonly #b = new Map(); }', []],
  ['function a() { let b = 0; b += 1; return new Map([[b, b]]); }', []],
])('the state of the module %j: %j', (source, found) => {
  expect(moduleState(source)).toEqual(found);
});

test('no module of src/control keeps state', () => {
  const files = readdirSync(control, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(50);
  const found = files.flatMap((path) =>
    moduleState(readFileSync(join(control, path), 'utf8')).map((name) => `${path}: ${name}`),
  );
  expect(found).toEqual([]);
});
