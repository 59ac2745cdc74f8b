// State in modules: src has none. In src/control, a cache is part of the TurnCache that the loop passes on. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

const src = fileURLToPath(new URL('../../src', import.meta.url));

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

function* nodesIn(value: unknown): Generator<Node> {
  if (isNode(value)) yield value;
  if (typeof value !== 'object' || value === null) return;
  for (const child of Object.values(value)) yield* nodesIn(child);
}

const READING = ['entries', 'forEach', 'get', 'has', 'keys', 'size', 'values'];
const isNamed = (value: unknown, name: string): boolean =>
  isNode(value) && value.type === 'Identifier' && value.name === name;

/** Every mention of the name, besides its declaration, reads the Map or Set. So no other code can change it either. */
function isOnlyRead(name: string, module: Node): boolean {
  const nodes = [...nodesIn(module)];
  const reads = nodes.filter(
    ({ type, object, property }) =>
      type === 'MemberExpression' &&
      isNamed(object, name) &&
      READING.includes(String((property as Node).name)),
  );
  return nodes.filter((node) => isNamed(node, name)).length === reads.length + 1;
}

/** Names of variables that a module keeps and may change. A Map or Set is a constant if its type says so, or if the module only reads it. */
function moduleState(source: string): string[] {
  const module = parseAst(source, { lang: 'ts' }) as unknown as Node;
  return (module.body as readonly Node[]).flatMap((statement) => {
    const isExported = statement.type === 'ExportNamedDeclaration';
    const declared = (isExported ? statement.declaration : statement) as Node | null;
    if (declared?.type !== 'VariableDeclaration') return [];
    return (declared.declarations as readonly Node[]).flatMap(({ id, init }) => {
      const { name, start, end } = id as Node & { readonly start: number; readonly end: number };
      if (declared.kind !== 'const') return [String(name)];
      const made = isNode(init) ? constructed(init) : [];
      if (made.some((each) => each.startsWith('Weak'))) return [String(name)];
      if (!made.some((each) => /^(Map|Set)$/.test(each))) return [];
      const isTyped = source.slice(start, end).includes(':');
      return isTyped || (!isExported && isOnlyRead(String(name), module)) ? [] : [String(name)];
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
  ['const a = new Set(["b"]); const c = (d) => a.has(d);', []],
  ['const a = new Set(["b"]); const c = (d) => a.add(d);', ['a']],
  ['const a = new Set(["b"]); const c = (d) => a.has(d) || d(a);', ['a']],
  ['export const a = new Set(["b"]); a.has("c");', ['a']],
  ['const newCache = () => new WeakMap<object, number>();', []],
  ['class A { readonly #b = new Map(); }', []],
  ['function a() { let b = 0; b += 1; return new Map([[b, b]]); }', []],
])('the state of the module %j: %j', (source, found) => {
  expect(moduleState(source)).toEqual(found);
});

test('no module of src keeps state', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(200);
  const found = files.flatMap((path) =>
    moduleState(readFileSync(join(src, path), 'utf8')).map((name) => `${path}: ${name}`),
  );
  expect(found).toEqual([]);
});
