// Dead exports of src/: what no other file imports is not exported, and what only tests import is part of its own file's work.
// `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
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

/** What a file imports from files of ours, as `<path>#<name>`; the name `*` stands for all names. */
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

test.each<[title: string, sources: Sources, dead: string[]]>([
  ['a value that no file imports', { 'src/a.ts': 'export const a = 1; a;' }, ['src/a.ts: a']],
  ['a type that no file names', { 'src/a.ts': 'export interface A {}' }, ['src/a.ts: A']],
  ['a type in a signature', { 'src/a.ts': 'export type A = 1; type B = A;' }, []],
  [
    'a value that only a test uses',
    { 'src/a.ts': 'export const a = 1;', 'test/b.ts': "import { a } from '../src/a.ts';" },
    ['src/a.ts: a, which only tests use'],
  ],
  [
    'a value that a test and its own file use',
    { 'src/a.ts': 'export const a = 1; f(a);', 'src/a.test.ts': "import { a } from './a.ts';" },
    [],
  ],
  [
    'a value that another file uses',
    { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "import { a } from './a.ts';" },
    [],
  ],
  ['everything', { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "import * as a from './a.ts';" }, []],
  ['a computed import', { 'src/a.ts': 'export const a = 1;', 'src/b.ts': "await import('./a.ts');" }, []],
])('%s', (_title, sources, dead) => {
  expect(deadExports(sources)).toEqual(dead);
});

test('src has no dead export', () => {
  const paths = ['src', 'test', 'demo', 'bench', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => join(folder, path)),
  );
  const sources = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  expect(paths.filter(isProduct).length).toBeGreaterThan(200);
  expect(deadExports(sources)).toEqual([]);
});
