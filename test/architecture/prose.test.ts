// Keeps the prose plain and the docs true: words that hide the subject, links, metrics and flags. `npm run check` runs this file.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FLAG_NAMES } from '../../src/cli/config/flags.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const UNCLEAR = /\b([Ww]hoever|[Ss]omebody|[Nn]obody|[Ff]ellows?|[Ww]ell again|[Mm]end(s|ed|ing)?)\b/;
/** Names in camel case that pages use, and that are no field of a log line, of the status or of the chart. */
const OTHER_NAMES: readonly { readonly of: string; readonly words: string }[] = [
  {
    of: 'Kubernetes and Cluster API',
    words:
      'apiServerPort bootID controlPlaneEndpoint identityRef loadBalancerNetwork nodeInfo resourceNames resourceVersion tokenFile',
  },
  {
    of: 'JSON Schema, npm and client-node',
    words: 'additionalProperties applyToHTTPSOptions devDependencies',
  },
  { of: 'the source', words: 'desiredState heldPorts minBytes parseClientHello retainNetns skipBytes' },
];
/** The Unix user of that name. */
const UNIX_USER = /nobody:x:65534|\buser nobody\b/;
/** A name that a test gives to an object, for example `'nobody'` or `"nobody"`. */
const QUOTED_NAME = /(['"`])[^'"`\s]*\1/g;

const filesBelow = (place: string): string[] =>
  readdirSync(join(root, place), { withFileTypes: true, recursive: true }).flatMap((each) =>
    each.isFile() ? [relative(root, join(each.parentPath, each.name))] : [],
  );
const pages = (): string[] => [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'native/README.md'],
  ...['docs', 'bench', 'deploy', 'test'].flatMap(filesBelow).filter((path) => path.endsWith('.md')),
];
/** The anchors of a page, made from its headings as GitHub makes them. */
const anchorsOf = (path: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
/** A regular expression in code can look like a link. */
const withoutCode = (line: string): string => line.replaceAll(/`[^`]*`/g, '');
const linesOf = (path: string): string[] => readFileSync(join(root, path), 'utf8').split('\n');
const found = (paths: readonly string[], isWrong: (line: string, path: string) => boolean): string[] =>
  paths.flatMap((path) =>
    linesOf(path).flatMap((line, index) =>
      isWrong(line, path) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
    ),
  );

test('every sentence names its subject', () => {
  const folders = ['src', 'native', 'deploy', 'docs', 'test', 'bench', 'demo', 'scripts'];
  const pagesOfRoot = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
  const paths = [...folders.flatMap(filesBelow), ...pagesOfRoot].filter(
    (path) => !path.endsWith('.svg') && path !== 'test/architecture/prose.test.ts',
  );
  // The changelog quotes messages of earlier releases.
  const unquoted = (line: string, path: string) =>
    path === 'CHANGELOG.md' ? withoutCode(line) : line.replaceAll(QUOTED_NAME, '');
  const isUnclear = (line: string, path: string) =>
    UNCLEAR.test(unquoted(line, path)) && !UNIX_USER.test(line);
  expect(found(paths, isUnclear)).toEqual([]);
});

test('every relative link in the docs leads to a file or a heading of this repository', () => {
  const isBroken = (page: string, target: string, anchor: string | undefined): boolean => {
    if (/^[a-z]+:/.test(target)) return false;
    const path = target === '' ? page : join(dirname(page), target);
    if (path.startsWith('..') || !existsSync(join(root, path))) return true;
    return anchor !== undefined && !anchorsOf(path).includes(anchor);
  };
  const broken = found(pages(), (line, page) =>
    [...withoutCode(line).matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)].some(([, target, anchor]) =>
      isBroken(page, target!, anchor),
    ),
  );
  expect(broken).toEqual([]);
});

test('no page names a file outside the repository', () => {
  expect(found(pages(), (line) => /(?<![\w-])shared\/[\w-]+[./]/.test(line))).toEqual([]);
});

test('every metric in docs and deploy exists', () => {
  const sources = filesBelow('src')
    .filter((path) => path.startsWith('src/telemetry') && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const known = new Set(sources.match(/isthmus_[a-z_]+/g));
  const isKnown = (name: string): boolean =>
    known.has(name) || known.has(name.replace(/_(bucket|count|sum)$/, ''));
  // The variables of the Ansible role have the same prefix.
  const isOfRole = (path: string) => /^(deploy\/ansible\/|docs\/how-to\/install\/ansible\.md$)/.test(path);
  const paths = [...pages(), ...filesBelow('deploy')].filter((path) => !isOfRole(path));
  const wrong = found(paths, (line) =>
    (line.match(/(?<![\w/.-])isthmus_[a-z_]+[a-z](?![\w*<]|\.deb)/g) ?? []).some((name) => !isKnown(name)),
  );
  expect(wrong).toEqual([]);
});

test('every flag in the docs exists', () => {
  const ofOtherCommands =
    'atomic check force-conflicts grace-period help ignore-scripts json once output platform reuse-values secret set timestamp user with-environment';
  const known = new Set<string>([...FLAG_NAMES, ...ofOtherCommands.split(' ')]);
  const paths = pages().filter((path) => !/^(bench|native|test|CHANGELOG)/.test(path));
  const wrong = found(paths, (line) =>
    [...line.matchAll(/`--([a-z-]+)[ =`]/g)].some(([, flag]) => !known.has(flag!)),
  );
  expect(wrong).toEqual([]);
});

test('every log field, status field and chart value that a page names exists', () => {
  const sources = [
    'src/telemetry/log/log-fields.ts',
    'docs/reference/status.md',
    'docs/reference/additional-listener.md',
    'deploy/helm/isthmus/values.yaml',
    // The fields of Kubernetes that the chart sets.
    'deploy/helm/isthmus/templates/daemonset.yaml',
  ];
  const names = sources.flatMap((path) => readFileSync(join(root, path), 'utf8').match(/\w+/g) ?? []);
  const known = new Set([...names, ...OTHER_NAMES.flatMap(({ words }) => words.split(' '))]);
  const camelCase = /(?<![\w$-])[a-z]+(?:[A-Z][a-z0-9]*)+/g;
  const namesIn = (line: string): readonly string[] =>
    (line.match(/`[^`]*`/g) ?? []).flatMap((code) => code.match(camelCase) ?? []);
  const pagesOfUsers = pages().filter((path) => !/^(bench|native|test)\//.test(path));
  expect(found(pagesOfUsers, (line) => namesIn(line).some((name) => !known.has(name)))).toEqual([]);
  const used = new Set(pagesOfUsers.flatMap(linesOf).flatMap(namesIn));
  const unused = OTHER_NAMES.flatMap(({ words }) => words.split(' ')).filter((name) => !used.has(name));
  expect(unused, 'names that no page uses any more').toEqual([]);
});

test('the README stays short', () => {
  const words = readFileSync(join(root, 'README.md'), 'utf8').split(/\s+/).filter(Boolean).length;
  expect(words).toBeLessThanOrEqual(900);
});
