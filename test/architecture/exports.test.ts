// The exports of src/: another file imports each of them, and an exported type name means one thing, also in test, demo and bench. A value
// that only tests import must also be used in its own file. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** By path in the repository. */
type Sources = Readonly<Record<string, string>>;

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface Export {
  readonly name: string;
  readonly isType: boolean;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
const nameOf = (value: unknown): string => String((value as Node | null)?.name ?? '');

function* nodesIn(value: unknown): Generator<Node> {
  if (isNode(value)) yield value;
  if (typeof value !== 'object' || value === null) return;
  for (const child of Object.values(value)) yield* nodesIn(child);
}

function declared(statement: Node): Export[] {
  if (statement.type !== 'ExportNamedDeclaration' || !isNode(statement.declaration)) return [];
  const { declaration } = statement;
  const isType = declaration.type.startsWith('TS');
  const names =
    declaration.type === 'VariableDeclaration'
      ? (declaration.declarations as readonly Node[]).map(({ id }) => nameOf(id))
      : [nameOf(declaration.id)];
  return names.map((name) => ({ name, isType }));
}

/** The imports of a file from other files of the repository, as `<path>#<name>`. The name `*` stands for all names. */
function importsOf(path: string, source: string): string[] {
  const found: string[] = [];
  for (const node of nodesIn(parseAst(source, { lang: 'ts' }))) {
    const from = isNode(node.source) ? node.source.value : null;
    if (typeof from !== 'string' || !from.startsWith('.')) continue;
    const target = normalize(join(dirname(path), from));
    const parts = (node.specifiers ?? []) as readonly Node[];
    if (parts.length === 0) found.push(`${target}#${isNode(node.qualifier) ? nameOf(node.qualifier) : '*'}`);
    for (const part of parts) {
      const name = nameOf(part.imported ?? part.local);
      found.push(`${target}#${part.type === 'ImportNamespaceSpecifier' ? '*' : name}`);
    }
  }
  return found;
}

const isProduct = (path: string): boolean =>
  path.startsWith('src/') && !/\.(test|conformance)\.ts$/.test(path);

function deadExports(sources: Sources): string[] {
  const byProduct = new Set<string>();
  const byOthers = new Set<string>();
  for (const [path, source] of Object.entries(sources))
    for (const imported of importsOf(path, source)) (isProduct(path) ? byProduct : byOthers).add(imported);
  const isIn = (imports: ReadonlySet<string>, path: string, name: string) =>
    imports.has(`${path}#${name}`) || imports.has(`${path}#*`);

  return Object.entries(sources).flatMap(([path, source]) => {
    if (!isProduct(path)) return [];
    const exports = (parseAst(source, { lang: 'ts' }).body as unknown as readonly Node[]).flatMap(declared);
    return exports.flatMap(({ name, isType }) => {
      if (isIn(byProduct, path, name)) return [];
      const uses = source.match(new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`, 'g')) ?? [];
      const isUsedHere = uses.length > 1;
      // A type may be exported for the signature of another export.
      if (isUsedHere && (isType || isIn(byOthers, path, name))) return [];
      return [`${path}: ${name}${isIn(byOthers, path, name) ? ', which only tests use' : ''}`];
    });
  });
}

const TYPE_DECLARATIONS = ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'ClassDeclaration'];

/** Names of exported types of src that another file of src declares too, exported or not, or that a file elsewhere exports. */
function ambiguousTypes(sources: Sources): string[] {
  const places = new Map<string, { path: string; isExported: boolean }[]>();
  for (const [path, source] of Object.entries(sources)) {
    for (const statement of parseAst(source, { lang: 'ts' }).body as unknown as readonly Node[]) {
      const isExported = statement.type === 'ExportNamedDeclaration';
      const declaration = isExported ? statement.declaration : statement;
      if (!isNode(declaration) || !TYPE_DECLARATIONS.includes(declaration.type)) continue;
      if (!isProduct(path) && !isExported) continue;
      const name = nameOf(declaration.id);
      places.set(name, [...(places.get(name) ?? []), { path, isExported }]);
    }
  }
  return [...places].flatMap(([name, declarations]) =>
    declarations.length > 1 && declarations.some(({ path, isExported }) => isExported && isProduct(path))
      ? [`${name}: ${declarations.map(({ path }) => path).join(', ')}`]
      : [],
  );
}

describe('a dead export', () => {
  test.each<[title: string, sources: Sources, dead: string[]]>([
    ['is a value that no file imports', { 'src/a.ts': 'export const a = 1; a;' }, ['src/a.ts: a']],
    ['is a type that no file names', { 'src/a.ts': 'export interface A {}' }, ['src/a.ts: A']],
    ['is not a type in a signature', { 'src/a.ts': 'export type A = 1; type B = A;' }, []],
    [
      'is a value that only a test uses',
      { 'src/a.ts': 'export const a = 1;', 'test/b.ts': "import { a } from '../src/a.ts';" },
      ['src/a.ts: a, which only tests use'],
    ],
    [
      'is not a value that a test and its own file use',
      { 'src/a.ts': 'export const a = 1; f(a);', 'src/a.test.ts': "import { a } from './a.ts';" },
      [],
    ],
    [
      'is not a value that another file uses',
      { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "import { a } from './a.ts';" },
      [],
    ],
    [
      'is not a value of a file that another file imports as a whole',
      { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "import * as a from './a.ts';" },
      [],
    ],
    [
      'is not a value of a file that another file imports at run time',
      { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "await import('./a.ts');" },
      [],
    ],
  ])('%s', (_title, sources, dead) => {
    expect(deadExports(sources)).toEqual(dead);
  });
});

test.each<[title: string, sources: Sources, ambiguous: string[]]>([
  [
    'two exported types of one name are ambiguous',
    { 'src/a.ts': 'export interface A {}', 'src/b.ts': 'export type A = 1;' },
    ['A: src/a.ts, src/b.ts'],
  ],
  [
    'a private type with the name of an exported class is ambiguous',
    { 'src/a.ts': 'export class A {}', 'src/b.ts': 'interface A {}' },
    ['A: src/a.ts, src/b.ts'],
  ],
  [
    'private types of one name are not ambiguous',
    { 'src/a.ts': 'interface A {}', 'src/b.ts': 'interface A {}' },
    [],
  ],
  [
    'an exported type of a test with the name of an exported type of src is ambiguous',
    { 'src/a.ts': 'export interface A {}', 'test/b.ts': 'export type A = 1;' },
    ['A: src/a.ts, test/b.ts'],
  ],
  [
    'an exported type of a test with the name of a private type of src is not ambiguous',
    { 'src/a.ts': 'interface A {}', 'test/b.ts': 'export type A = 1;' },
    [],
  ],
  [
    'exported types of one name in the demo and a test are not ambiguous',
    { 'demo/a.ts': 'export interface A {}', 'test/b.ts': 'export type A = 1;' },
    [],
  ],
  [
    'a type of src that a test exports again is not ambiguous',
    { 'src/a.ts': 'export interface A {}', 'test/b.ts': "export type { A } from '../src/a.ts';" },
    [],
  ],
  [
    'a private type of a test is not ambiguous',
    { 'src/a.ts': 'export interface A {}', 'src/a.test.ts': 'interface A {}' },
    [],
  ],
])('%s', (_title, sources, ambiguous) => {
  expect(ambiguousTypes(sources)).toEqual(ambiguous);
});

describe('src', () => {
  const paths = ['src', 'test', 'demo', 'bench', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => join(folder, path)),
  );
  const sources = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));

  test('has no dead export', () => {
    expect(paths.filter(isProduct).length).toBeGreaterThan(200);
    expect(deadExports(sources)).toEqual([]);
  });

  test('declares the name of each exported type once', () => {
    expect(ambiguousTypes(sources)).toEqual([]);
  });
});
