// Reads the imports and the requests of src/ and fails on one against the direction of the design. `npm run check` runs this file.
// The tables below are the rules. The facts come from the syntax tree, so comments and strings do not count.
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

interface Allowed {
  /** Folders or files that may be imported. Each folder may also import its own files. */
  readonly anything?: readonly string[];
  /** Folders or files of which only types may be imported. */
  readonly types?: readonly string[];
  /** The folders or files of the part that may send reading requests to Kubernetes. */
  readonly reads?: readonly string[];
  /** Those that may send writing requests. */
  readonly writes?: readonly string[];
}

/** The names of the log fields: vocabulary for every part that logs. It loads nothing. */
const LOG_FIELDS = 'telemetry/log/log-fields.ts';

/**
 * The stages of src/control in their order, and what each may import besides the stages before it. A stage never imports a later stage
 * or the loop. Only sources and instance can watch Kubernetes. World, desired and plan send no requests.
 */
const STAGES: readonly (readonly [name: string, besides: Allowed])[] = [
  ['objects', { anything: ['kube/labels', 'kube/persistent-map.ts'] }],
  ['sources', { anything: ['kube', 'routing/changes.ts'], reads: ['control/sources'] }],
  // The Lease is renewed where it is watched.
  [
    'instance',
    { anything: ['kube'], reads: ['control/instance'], writes: ['control/instance/instance-lease.ts'] },
  ],
  ['world', { types: ['health', 'netns', 'routing'] }],
  ['desired', { anything: ['health', 'routing'], types: ['netns'] }],
  ['plan', { anything: ['routing/changes.ts'] }],
  [
    'apply',
    {
      anything: ['kube/abortable.ts', 'kube/api-path.ts', 'kube/kube-error.ts', 'kube/object-answer.ts'],
      types: ['kube', LOG_FIELDS],
      // It reads the kubeconfig just before it writes it, and does not keep it.
      reads: ['control/apply/kubeconfig-write.ts'],
      writes: ['control/apply'],
    },
  ],
];
const stage = (index: number) => `control/${STAGES[index]?.[0]}`;
const stageRule = ({ anything = [], ...besides }: Allowed, index: number): Allowed => ({
  anything: [...STAGES.slice(0, index).map((_, each) => stage(each)), ...anything],
  ...besides,
});

/** By folder or file of src/. The longest path that contains a file is its rule. */
const RULES: Readonly<Record<string, Allowed>> = {
  tls: {},
  netns: {},
  kube: {},
  routing: { types: ['netns/netns-ref.ts'] },
  health: { anything: ['netns'] },
  ...Object.fromEntries(STAGES.map(([, besides], index) => [stage(index), stageRule(besides, index)])),
  // The loop and the wiring of the publisher import every stage, and no stage imports them.
  control: { types: ['health', 'kube', 'netns', 'routing'] },
  proxy: { anything: ['netns', 'routing', 'tls'] },
  // systemd and upgrades: sockets and processes, no clusters.
  lifecycle: { anything: ['netns'], types: [LOG_FIELDS] },
  // Pure readers of flag values. Other parts show their errors.
  'cli/config': {
    anything: ['control/objects/resource-tags.ts', 'kube/labels'],
    types: ['lifecycle/settings-environment.ts'],
  },
  telemetry: {
    anything: ['cli/config', 'netns/descriptor.ts', 'routing'],
    types: ['control', 'health', 'proxy'],
  },
  // The commands ask a running process. They load only the parts that show its answer.
  cli: { anything: ['lifecycle', 'routing', 'telemetry/status'], types: ['telemetry'] },
  // A separate program: it checks whether each part could work. No part imports it.
  'cli/doctor': {
    anything: [
      'cli/admin-client.ts',
      'cli/exit-codes.ts',
      ...['objects', 'sources', 'instance', 'world'].map((name) => `control/${name}`),
      'kube',
      ...['descriptor-limit', 'start-checks'].map((name) => `lifecycle/${name}.ts`),
      'netns',
      'routing',
    ],
    types: ['cli/config', 'telemetry/status/status.ts'],
    reads: ['cli/doctor'],
  },
  'version.ts': {},
  'listener-ports.ts': { anything: ['proxy', 'routing'], types: ['cli/config'] },
  // The main thread's side. It imports only types of the control thread's messages.
  'control/settled-result.ts': { anything: ['routing/changes.ts'], types: ['control'] },
  'control-thread/control-changes.ts': { anything: ['routing'], types: ['control'] },
  'control-thread/control-messages.ts': {
    types: ['control', 'control-thread/control-changes.ts', 'health', 'routing', LOG_FIELDS],
  },
  'control-thread/control-heartbeat.ts': {},
  'control-thread/control-link.ts': {
    anything: ['control-thread/control-changes.ts', 'control-thread/control-heartbeat.ts'],
    types: ['cli/config', 'control', 'control-thread/control-messages.ts', 'health', 'routing', LOG_FIELDS],
  },
  'control-thread/fallen-backends.ts': { types: ['control'] },
  'app.ts': {
    anything: [
      'cli/config',
      'control-thread/fallen-backends.ts',
      'lifecycle/address-in-use.ts',
      'lifecycle/descriptor-limit.ts',
      'lifecycle/port-owner.ts',
      'lifecycle/trim-startup-heap.ts',
      'listener-ports.ts',
      'netns',
      'proxy',
      'routing',
      'telemetry',
    ],
    types: ['control', 'control-thread', 'lifecycle'],
  },
  // The control thread's side. Each module costs memory a second time, so it loads no log, metrics or admin server.
  'control-thread/control-outbox.ts': {
    anything: ['control-thread/control-changes.ts'],
    types: ['control'],
  },
  'control-thread/readiness.ts': { types: ['control'] },
  'control-thread/control-kubernetes.ts': {
    anything: ['control', 'kube', 'routing/changes.ts'],
    types: ['cli/config', 'control-thread/control-messages.ts', LOG_FIELDS],
  },
  'control-thread/control-thread.ts': {
    anything: [
      'control',
      'control-thread/control-kubernetes.ts',
      'control-thread/control-outbox.ts',
      'control-thread/readiness.ts',
      'health',
      'lifecycle/trim-startup-heap.ts',
      'netns',
      'routing',
      'version.ts',
    ],
    types: ['cli/config', 'control-thread/control-messages.ts', LOG_FIELDS],
  },
  'main.ts': {
    anything: [
      'app.ts',
      'cli',
      'control-thread/control-link.ts',
      'lifecycle',
      'netns',
      'telemetry',
      'version.ts',
    ],
  },
};

/** The key of the rule for a file; null: there is none. */
function placeOf(path: string): string | null {
  const places = Object.keys(RULES).filter((place) => isWithin(path, [place]));
  return places.sort((a, b) => b.length - a.length)[0] ?? null;
}

/** A setting that logic reads from the environment would be missing on the page of flags and variables. */
const MAY_READ_ENVIRONMENT = ['main.ts', 'control-thread/control-thread.ts', 'netns/native.ts'];
const MAY_LOAD_ADDONS = ['netns/native.ts'];
const MAY_READ_KUBERNETES = Object.values(RULES).flatMap(({ reads = [] }) => reads);
const MAY_WRITE_KUBERNETES = Object.values(RULES).flatMap(({ writes = [] }) => writes);
/** These send reading requests for the files that load them: lists, watches, access reviews, and the question for the served version. */
const READERS = ['kube/access-review.ts', 'kube/served-version.ts', 'kube/watch'];
/** The client itself. It sends what the others ask for. */
const KUBERNETES_CLIENT = 'kube';

/** What a request does. `computed`: its method is known only at run time. */
type Purpose = 'reads' | 'writes' | 'computed';

interface Import {
  /** null: computed at run time. */
  readonly specifier: string | null;
  readonly isType: boolean;
}

interface Facts {
  readonly imports: readonly Import[];
  readonly readsEnvironment: boolean;
  readonly loadsAddons: boolean;
  /** One for each object literal with a `method`. */
  readonly requests: readonly Purpose[];
}

/** By path below src/. */
type Sources = Readonly<Record<string, string>>;

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

function* nodesIn(value: unknown): Generator<Node> {
  if (isNode(value)) yield value;
  if (typeof value !== 'object' || value === null) return;
  for (const child of Object.values(value)) yield* nodesIn(child);
}

const literal = (value: unknown): string | null =>
  isNode(value) && value.type === 'Literal' && typeof value.value === 'string' ? value.value : null;
const named = (value: unknown, name: string): boolean =>
  isNode(value) && ((value.type === 'Identifier' && value.name === name) || literal(value) === name);

function factsOf(source: string): Facts {
  const imports: Import[] = [];
  let readsEnvironment = false;
  let loadsAddons = false;
  const requests: Purpose[] = [];
  for (const node of nodesIn(parseAst(source, { lang: 'ts' }))) {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'ExportAllDeclaration': {
        const specifier = literal(node.source);
        if (specifier === null) break; // an export of its own
        const parts = (node.specifiers ?? []) as readonly Node[];
        const kindOf = (part: Node) => part.importKind ?? part.exportKind;
        const isType =
          kindOf(node) === 'type' || (parts.length > 0 && parts.every((part) => kindOf(part) === 'type'));
        imports.push({ specifier, isType });
        const takes = (name: string) =>
          parts.some((part) => part.type !== 'ImportSpecifier' || named(part.imported, name));
        if (/^(node:)?process$/.test(specifier) && takes('env')) readsEnvironment = true;
        if (/^(node:)?module$/.test(specifier) && takes('createRequire')) loadsAddons = true;
        break;
      }
      case 'ImportExpression':
        imports.push({ specifier: literal(node.source), isType: false });
        break;
      case 'TSImportType':
        imports.push({ specifier: literal(node.source), isType: true });
        break;
      case 'TSImportEqualsDeclaration':
        loadsAddons = true; // import x = require()
        break;
      case 'CallExpression':
        if (named(node.callee, 'require')) loadsAddons = true;
        break;
      case 'MemberExpression':
        if (named(node.property, 'env') && nameAtEnd(node.object) === 'process') readsEnvironment = true;
        if (named(node.property, 'dlopen') && nameAtEnd(node.object) === 'process') loadsAddons = true;
        break;
      case 'VariableDeclarator': {
        const keys = isNode(node.id) ? ((node.id.properties ?? []) as readonly Node[]) : [];
        if (nameAtEnd(node.init) === 'process' && keys.some(({ key }) => named(key, 'env')))
          readsEnvironment = true;
        break;
      }
      case 'ObjectExpression': {
        const purpose = purposeOf(node);
        if (purpose !== null) requests.push(purpose);
        break;
      }
      case 'Literal':
        if (literal(node)?.endsWith('.node')) loadsAddons = true;
        break;
    }
  }
  return { imports, readsEnvironment, loadsAddons, requests };
}

const valueIn = (object: unknown, name: string): unknown =>
  isNode(object)
    ? ((object.properties ?? []) as readonly Node[]).find(({ key }) => named(key, name))?.value
    : undefined;

/** null: the object literal is no request. */
function purposeOf(object: Node): Purpose | null {
  const method = valueIn(object, 'method');
  if (method === undefined) return null;
  switch (literal(method)) {
    case null:
      return 'computed';
    case 'GET':
      return 'reads';
    case 'POST': {
      // The server stores nothing for a review or a dry run.
      const isReview = /\/self[a-z]+reviews$/.test(literal(valueIn(object, 'path')) ?? '');
      const isDryRun = literal(valueIn(valueIn(object, 'query'), 'dryRun')) === 'All';
      return isReview || isDryRun ? 'reads' : 'writes';
    }
    default:
      return 'writes';
  }
}

/** `process` of `process` and of `globalThis.process`. */
function nameAtEnd(value: unknown): unknown {
  if (!isNode(value)) return undefined;
  return value.type === 'MemberExpression' ? nameAtEnd(value.property) : value.name;
}

const isWithin = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path === place || path.startsWith(`${place}/`));

const isTest = (path: string): boolean => /\.(test|conformance)\.ts$/.test(path);

function violations(sources: Sources, dependencies: readonly string[]): string[] {
  const found: string[] = [];
  const edges = new Map<string, string[]>();
  for (const [path, source] of Object.entries(sources)) {
    if (isTest(path)) continue;
    const facts = factsOf(source);
    const targets: string[] = [];
    edges.set(path, targets);
    for (const { specifier, isType } of facts.imports) {
      if (specifier === null) {
        found.push(`${path} imports a computed path`);
      } else if (!specifier.startsWith('.')) {
        const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
        if (!isBuiltin(specifier) && !dependencies.includes(name))
          found.push(`${path} imports ${name}: no dependency`);
      } else {
        const target = normalize(join(dirname(path), specifier));
        targets.push(target);
        const problem = edgeProblem(path, target, isType, sources);
        if (problem !== null) found.push(`${path} imports ${target}: ${problem}`);
      }
    }
    if (facts.readsEnvironment && !isWithin(path, MAY_READ_ENVIRONMENT))
      found.push(`${path} reads the environment`);
    if (facts.loadsAddons && !isWithin(path, MAY_LOAD_ADDONS)) found.push(`${path} loads an addon`);
    for (const problem of requestProblems(path, facts.requests, loadedBy(path, facts)))
      found.push(`${path} ${problem}`);
  }
  for (const cycle of cyclesOf(edges)) found.push(`cycle: ${cycle.join(', ')}`);
  return found;
}

/** The files that this file loads at run time. */
const loadedBy = (path: string, { imports }: Facts): string[] =>
  imports.flatMap(({ specifier, isType }) =>
    isType || !specifier?.startsWith('.') ? [] : [normalize(join(dirname(path), specifier))],
  );

function requestProblems(path: string, requests: readonly Purpose[], loaded: readonly string[]): string[] {
  if (isWithin(path, [KUBERNETES_CLIENT])) return [];
  const found: string[] = [];
  if (requests.includes('computed') && mayHaveClient(path))
    found.push('sends a request with a computed method');
  if (isReader(requests, loaded) && !isWithin(path, MAY_READ_KUBERNETES)) found.push('reads from Kubernetes');
  if (requests.includes('writes') && !isWithin(path, MAY_WRITE_KUBERNETES))
    found.push('writes to Kubernetes');
  return found;
}

const isReader = (requests: readonly Purpose[], loaded: readonly string[]): boolean =>
  requests.includes('reads') || loaded.some((target) => isWithin(target, READERS));

/** The admin server passes on the methods of its clients. Its part may not name a client of Kubernetes, so it cannot send a request. */
function mayHaveClient(path: string): boolean {
  const { anything = [], types = [] } = RULES[placeOf(path) ?? ''] ?? {};
  return isWithin(path, ['control']) || isWithin('kube/kube-client.ts', [...anything, ...types]);
}

function edgeProblem(path: string, target: string, isType: boolean, sources: Sources): string | null {
  if (target.startsWith('../')) return 'outside of src';
  if (isTest(target)) return 'a test';
  if (!Object.hasOwn(sources, target)) return 'no such file';
  const place = placeOf(path);
  if (place === null) return `there is no rule for ${path}`;
  const rule = RULES[place] as Allowed;
  if (isWithin(target, [place]) || isWithin(target, rule.anything ?? [])) return null;
  if (isWithin(target, rule.types ?? [])) return isType ? null : 'only types may be';
  return `${place} may not`;
}

/** Tarjan's algorithm: groups of files that import each other, directly or not. Type imports count. */
function cyclesOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string): number => {
    const mine = order.size;
    order.set(path, mine);
    low.set(path, mine);
    stack.push(path);
    for (const target of edges.get(path) ?? []) {
      const reached = order.has(target)
        ? stack.includes(target)
          ? (order.get(target) as number)
          : mine
        : visit(target);
      low.set(path, Math.min(low.get(path) as number, reached));
    }
    const lowest = low.get(path) as number;
    if (lowest === mine) {
      const group = stack.splice(stack.indexOf(path));
      if (group.length > 1 || edges.get(path)?.includes(path)) cycles.push(group.sort());
    }
    return lowest;
  };
  for (const path of edges.keys()) if (!order.has(path)) visit(path);
  return cycles;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('the program', () => {
  const sources: Sources = Object.fromEntries(
    readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .sort()
      .map((path) => [path, readFileSync(join(root, 'src', path), 'utf8')]),
  );
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };

  test('imports in one direction, without a cycle, and from its dependencies only', () => {
    expect(violations(sources, Object.keys(dependencies))).toEqual([]);
  });

  test('has a file for every rule, and the test finds its imports', () => {
    const paths = Object.keys(sources).filter((path) => !isTest(path));
    const places = new Set(paths.map((path) => placeOf(path) ?? path));
    expect([...places].sort()).toEqual(Object.keys(RULES).sort());
    const count = (path: string) => factsOf(sources[path] as string).imports.length;
    expect(count('app.ts')).toBeGreaterThan(15);
    expect(factsOf(sources['main.ts'] as string).imports).toContainEqual({
      specifier: './app.ts',
      isType: false,
    });
  });

  test('uses every permission of the rules', () => {
    const facts = Object.keys(sources)
      .filter((path) => !isTest(path))
      .map((path) => ({ path, ...factsOf(sources[path] as string) }));
    const outside = facts.filter(({ path }) => !isWithin(path, [KUBERNETES_CLIENT]));
    const reading = outside.filter((each) => isReader(each.requests, loadedBy(each.path, each)));
    const writing = outside.filter(({ requests }) => requests.includes('writes'));
    const unused = (places: readonly string[], users: readonly { readonly path: string }[]) =>
      places.filter((place) => !users.some(({ path }) => isWithin(path, [place])));
    expect(
      unused(
        MAY_READ_ENVIRONMENT,
        facts.filter(({ readsEnvironment }) => readsEnvironment),
      ),
    ).toEqual([]);
    expect(unused(MAY_READ_KUBERNETES, reading)).toEqual([]);
    expect(unused(MAY_WRITE_KUBERNETES, writing)).toEqual([]);
    const loading = facts.filter(({ loadsAddons }) => loadsAddons);
    expect(loading.map(({ path }) => path)).toEqual(MAY_LOAD_ADDONS);
  });
});

/** Folders that are in a clone only, and the parts of the program that each may load. Types may come from all parts. */
const AROUND: Readonly<Record<string, readonly string[]>> = {
  demo: ['test/fake-kube-api', 'src/control/objects'],
  'test/fake-kube-api': ['src/control/objects/needed-rights.ts'],
};

describe.each(Object.keys(AROUND))('%s', (place) => {
  test('loads only the vocabulary of the program', () => {
    const loaded = readdirSync(join(root, place), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !isTest(path))
      .map((path) => join(place, path))
      .flatMap((path) =>
        factsOf(readFileSync(join(root, path), 'utf8'))
          .imports.filter(({ specifier, isType }) => specifier?.startsWith('.') && !isType)
          .map(({ specifier }) => normalize(join(dirname(path), specifier as string))),
      );
    expect(loaded.length).toBeGreaterThan(10);
    expect(loaded.filter((path) => !isWithin(path, [place, ...(AROUND[place] as string[])]))).toEqual([]);
  });
});

describe('what one file imports', () => {
  test.each<[title: string, source: string, imports: Import[]]>([
    ['a value', `import { a } from './a.ts';`, [{ specifier: './a.ts', isType: false }]],
    ['a default', `import a from './a.ts';`, [{ specifier: './a.ts', isType: false }]],
    ['everything', `import * as a from './a.ts';`, [{ specifier: './a.ts', isType: false }]],
    ['an effect', `import './a.ts';`, [{ specifier: './a.ts', isType: false }]],
    ['a type', `import type { A } from './a.ts';`, [{ specifier: './a.ts', isType: true }]],
    [
      'only types, one by one',
      `import { type A, type B } from './a.ts';`,
      [{ specifier: './a.ts', isType: true }],
    ],
    ['a type among values', `import { type A, b } from './a.ts';`, [{ specifier: './a.ts', isType: false }]],
    [
      'a value that it exports again',
      `export { a } from './a.ts';`,
      [{ specifier: './a.ts', isType: false }],
    ],
    ['everything that it exports again', `export * from './a.ts';`, [{ specifier: './a.ts', isType: false }]],
    [
      'a type that it exports again',
      `export type { A } from './a.ts';`,
      [{ specifier: './a.ts', isType: true }],
    ],
    [
      'a value at run time',
      `const f = async () => (await import('./a.ts')).a;`,
      [{ specifier: './a.ts', isType: false }],
    ],
    [
      'a computed path at run time',
      `const f = (name: string) => import(name);`,
      [{ specifier: null, isType: false }],
    ],
    [
      'a type inside an annotation',
      `let a: import('./a.ts').A | null = null;`,
      [{ specifier: './a.ts', isType: true }],
    ],
    ['nothing, in a comment and in a string', `// import './a.ts'\nexport const b = "import './a.ts'";`, []],
    [
      'nothing, with exports of its own',
      'const a = 1; export { a }; export default a; export type B = 1;',
      [],
    ],
  ])('%s', (_title, source, imports) => {
    expect(factsOf(source).imports).toEqual(imports);
  });

  test.each<[source: string, reads: boolean]>([
    ['process.env.X', true],
    ['process["env"].X', true],
    ['process?.env', true],
    ['globalThis.process.env', true],
    ['const { env } = process', true],
    ['const { env: mine } = globalThis.process', true],
    [`import { env } from 'node:process'`, true],
    [`import process from 'node:process'`, true],
    [`import { argv } from 'node:process'`, false],
    ['process.argv', false],
    ['const environment = { env: 1 }; environment.env', false],
    ['// process.env', false],
  ])('%s reads the environment: %s', (source, reads) => {
    expect(factsOf(source).readsEnvironment).toBe(reads);
  });

  test.each<[source: string, loads: boolean]>([
    [`import { createRequire } from 'node:module'`, true],
    [`import * as module from 'node:module'`, true],
    [`require('x')`, true],
    [`import x = require('x')`, true],
    [`process.dlopen(module, file)`, true],
    [`const path = 'build/Release/linux_netns.node'`, true],
    [`import { isBuiltin } from 'node:module'`, false],
    [`import { readFileSync } from 'node:fs'`, false],
  ])('%s loads an addon: %s', (source, loads) => {
    expect(factsOf(source).loadsAddons).toBe(loads);
  });
});

describe('the rules reject', () => {
  const value = (path: string) => `import '${path}';`;
  const type = (path: string) => `import type { X } from '${path}'; export type Y = X;`;
  const empty = 'export {};';

  test.each<[title: string, sources: Sources, found: string[]]>([
    [
      'tls that imports another folder',
      { 'tls/a.ts': type('../netns/b.ts'), 'netns/b.ts': empty },
      ['tls/a.ts imports netns/b.ts: tls may not'],
    ],
    [
      'proxy that imports control',
      { 'proxy/a.ts': value('../control/b.ts'), 'control/b.ts': empty },
      ['proxy/a.ts imports control/b.ts: proxy may not'],
    ],
    [
      'a folder of proxy that imports control at run time',
      { 'proxy/s/a.ts': `export const f = () => import('../../control/b.ts');`, 'control/b.ts': empty },
      ['proxy/s/a.ts imports control/b.ts: proxy may not'],
    ],
    [
      'control that exports proxy again',
      { 'control/a.ts': `export * from '../proxy/b.ts';`, 'proxy/b.ts': empty },
      ['control/a.ts imports proxy/b.ts: control may not'],
    ],
    [
      'routing that imports another type of netns',
      { 'routing/a.ts': type('../netns/dial.ts'), 'netns/dial.ts': empty },
      ['routing/a.ts imports netns/dial.ts: routing may not'],
    ],
    [
      'telemetry that imports more than types of proxy',
      { 'telemetry/a.ts': value('../proxy/b.ts'), 'proxy/b.ts': empty },
      ['telemetry/a.ts imports proxy/b.ts: only types may be'],
    ],
    [
      'a part that imports app',
      { 'telemetry/a.ts': value('../app.ts'), 'app.ts': empty },
      ['telemetry/a.ts imports app.ts: telemetry may not'],
    ],
    [
      'app that loads a file of the control thread',
      { 'app.ts': type('./control/b.ts') + value('./control/b.ts'), 'control/b.ts': empty },
      ['app.ts imports control/b.ts: only types may be'],
    ],
    [
      'the control thread that loads proxy, or metrics and log',
      {
        'control-thread/control-thread.ts': value('../proxy/b.ts') + value('../telemetry/c.ts'),
        'proxy/b.ts': empty,
        'telemetry/c.ts': empty,
      },
      [
        'control-thread/control-thread.ts imports proxy/b.ts: control-thread/control-thread.ts may not',
        'control-thread/control-thread.ts imports telemetry/c.ts: control-thread/control-thread.ts may not',
      ],
    ],
    [
      'a stage that imports a later one',
      { 'control/world/a.ts': value('../plan/b.ts'), 'control/plan/b.ts': empty },
      ['control/world/a.ts imports control/plan/b.ts: control/world may not'],
    ],
    [
      'a stage that imports a type of a later one',
      { 'control/desired/a.ts': type('../plan/b.ts'), 'control/plan/b.ts': empty },
      ['control/desired/a.ts imports control/plan/b.ts: control/desired may not'],
    ],
    [
      'the last stage that imports the loop',
      { 'control/apply/a.ts': type('../control-loop.ts'), 'control/control-loop.ts': empty },
      ['control/apply/a.ts imports control/control-loop.ts: control/apply may not'],
    ],
    [
      'a plan that imports the Kubernetes client',
      { 'control/plan/a.ts': value('../../kube/kube-client.ts'), 'kube/kube-client.ts': empty },
      ['control/plan/a.ts imports kube/kube-client.ts: control/plan may not'],
    ],
    [
      'an apply that watches',
      { 'control/apply/a.ts': value('../../kube/watch/b.ts'), 'kube/watch/b.ts': empty },
      [
        'control/apply/a.ts imports kube/watch/b.ts: only types may be',
        'control/apply/a.ts reads from Kubernetes',
      ],
    ],
    [
      'a publisher that watches',
      { 'control/kube-publisher.ts': value('../kube/watch/b.ts'), 'kube/watch/b.ts': empty },
      [
        'control/kube-publisher.ts imports kube/watch/b.ts: only types may be',
        'control/kube-publisher.ts reads from Kubernetes',
      ],
    ],
    [
      'a source that writes, and a plan that reads',
      {
        'control/sources/a.ts': `client.request({ method: 'PATCH', path });`,
        'control/plan/b.ts': `client.request({ path, method: 'GET' });`,
      },
      ['control/sources/a.ts writes to Kubernetes', 'control/plan/b.ts reads from Kubernetes'],
    ],
    [
      'an access review outside of the stages that read',
      {
        'control-thread/control-kubernetes.ts': value('../kube/access-review.ts'),
        'kube/access-review.ts': empty,
      },
      ['control-thread/control-kubernetes.ts reads from Kubernetes'],
    ],
    [
      'a doctor that writes, and a command that reads',
      {
        'cli/doctor/a.ts': `client.request({ method: 'POST', path: '/api/v1/namespaces/ns/services' });`,
        'cli/doctor/b.ts': `client.request({ method: 'POST', path, query: { dryRun: isDry } });`,
        'cli/c.ts': `client.request({ method: 'GET', path });`,
      },
      [
        'cli/doctor/a.ts writes to Kubernetes',
        'cli/doctor/b.ts writes to Kubernetes',
        'cli/c.ts reads from Kubernetes',
      ],
    ],
    [
      'a computed method where the client may be imported, and one in a stage without it',
      {
        'cli/doctor/a.ts': 'client.request({ method, path });',
        'control/plan/b.ts': 'client.request({ method, path });',
      },
      [
        'cli/doctor/a.ts sends a request with a computed method',
        'control/plan/b.ts sends a request with a computed method',
      ],
    ],
    [
      'a request with a computed method',
      { 'control/apply/a.ts': `client.request({ method: isNew ? 'POST' : 'PUT', path });` },
      ['control/apply/a.ts sends a request with a computed method'],
    ],
    [
      'app that imports main',
      { 'app.ts': value('./main.ts'), 'main.ts': empty },
      ['app.ts imports main.ts: app.ts may not'],
    ],
    [
      'a folder without a rule',
      { 'utils/a.ts': value('../tls/b.ts'), 'tls/b.ts': empty },
      ['utils/a.ts imports tls/b.ts: there is no rule for utils/a.ts'],
    ],
    [
      'src that imports test',
      { 'tls/a.ts': value('../../test/b.ts') },
      ['tls/a.ts imports ../test/b.ts: outside of src'],
    ],
    [
      'a test that is imported',
      { 'tls/a.ts': value('./b.test.ts'), 'tls/b.test.ts': empty },
      ['tls/a.ts imports tls/b.test.ts: a test'],
    ],
    ['a missing file', { 'tls/a.ts': value('./b.ts') }, ['tls/a.ts imports tls/b.ts: no such file']],
    ['a development dependency', { 'tls/a.ts': value('vitest') }, ['tls/a.ts imports vitest: no dependency']],
    [
      'a development dependency, by a path and a scope',
      { 'tls/a.ts': type('@types/node/fs') },
      ['tls/a.ts imports @types/node: no dependency'],
    ],
    [
      'an import of a computed path',
      { 'tls/a.ts': 'export const f = (x: string) => import(x);' },
      ['tls/a.ts imports a computed path'],
    ],
    [
      'the environment in logic',
      { 'proxy/a.ts': 'export const x = process.env.X;' },
      ['proxy/a.ts reads the environment'],
    ],
    [
      'another loader of the addon',
      { 'netns/a.ts': `import { createRequire } from 'node:module'; createRequire;` },
      ['netns/a.ts loads an addon'],
    ],
    [
      'a cycle of two',
      { 'tls/a.ts': value('./b.ts'), 'tls/b.ts': value('./a.ts') },
      ['cycle: tls/a.ts, tls/b.ts'],
    ],
    [
      'a cycle of types',
      { 'tls/a.ts': value('./b.ts'), 'tls/b.ts': type('./a.ts') },
      ['cycle: tls/a.ts, tls/b.ts'],
    ],
    ['a file that imports itself', { 'tls/a.ts': value('./a.ts') }, ['cycle: tls/a.ts']],
    [
      'two cycles beside files without one',
      {
        'tls/a.ts': value('./b.ts'),
        'tls/b.ts': value('./c.ts') + value('./x.ts'),
        'tls/c.ts': value('./a.ts'),
        'tls/d.ts': value('./a.ts'),
        'tls/x.ts': value('./y.ts'),
        'tls/y.ts': value('./x.ts'),
        'tls/z.ts': empty,
      },
      ['cycle: tls/x.ts, tls/y.ts', 'cycle: tls/a.ts, tls/b.ts, tls/c.ts'],
    ],
  ])('%s', (_title, sources, found) => {
    expect(violations(sources, ['pino'])).toEqual(found);
  });

  test.each<[title: string, sources: Sources]>([
    [
      'the imports of the table',
      {
        'telemetry/a.ts': type('../control/b.ts') + value('../cli/config/c.ts'),
        'control/b.ts': empty,
        'cli/config/c.ts': empty,
      },
    ],
    [
      'a stage that imports all before it, and the loop that imports the stages',
      {
        'control/objects/a.ts': empty,
        'control/sources/b.ts': value('../objects/a.ts') + value('../../kube/watch/d.ts'),
        'control/apply/c.ts': value('../objects/a.ts') + value('../sources/b.ts'),
        'control/control-loop.ts': value('./apply/c.ts') + value('./objects/a.ts'),
        'kube/watch/d.ts': empty,
      },
    ],
    [
      'an apply and a Lease that write, and a source that reads',
      {
        'control/apply/a.ts': `client.request({ method: 'POST', path });`,
        'control/instance/instance-lease.ts': `client.request({ method: 'PATCH', path });`,
        'control/sources/b.ts': `client.request({ method: 'GET', path });`,
      },
    ],
    [
      'a doctor that reads, asks for its own rights, and writes with a dry run',
      {
        'cli/doctor/a.ts': `client.request({ method: 'GET', path });`,
        'cli/doctor/b.ts': `client.request({ method: 'POST', path: '/apis/x/v1/selfsubjectreviews' });`,
        'cli/doctor/c.ts': `client.request({ method: 'POST', path, query: { dryRun: 'All' } });`,
        'cli/doctor/d.ts': value('../../kube/access-review.ts'),
        'kube/access-review.ts': `client.request({ method: 'POST', path });`,
      },
    ],
    [
      'an admin server that passes on the method of its client',
      { 'telemetry/admin/a.ts': `export const f = (method: string) => ({ kind: 'request', method });` },
    ],
    [
      'a diamond',
      {
        'tls/a.ts': value('./b.ts') + type('./c.ts'),
        'tls/b.ts': value('./d.ts'),
        'tls/c.ts': value('./d.ts'),
        'tls/d.ts': empty,
      },
    ],
    [
      'modules of Node and of the dependencies',
      { 'telemetry/a.ts': type('pino/file') + value('node:fs/promises') },
    ],
    ['any import of a test', { 'tls/a.test.ts': value('../proxy/b.ts'), 'proxy/b.ts': empty }],
  ])('but not %s', (_title, sources) => {
    expect(violations(sources, ['pino'])).toEqual([]);
  });
});
