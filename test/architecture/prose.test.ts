// Keeps the prose plain and the docs true: words that hide the subject, links, metrics and flags. `npm run check` runs this file.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FLAG_NAMES } from '../../src/cli/config/flags.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const UNCLEAR = /\b([Ww]hoever|[Ss]omebody|[Nn]obody|[Ff]ellows?|[Ww]ell again)\b/;
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
  const paths = [...folders.flatMap(filesBelow), 'README.md', 'CONTRIBUTING.md'].filter(
    (path) => !path.endsWith('.svg') && path !== 'test/architecture/prose.test.ts',
  );
  const isUnclear = (line: string) => UNCLEAR.test(line.replaceAll(QUOTED_NAME, '')) && !UNIX_USER.test(line);
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

test('every log field, status field and chart value that the how-to pages name exists', () => {
  const sources = [
    'src/telemetry/log/log-fields.ts',
    'docs/reference/status.md',
    'docs/reference/additional-listener.md',
    'deploy/helm/isthmus/values.yaml',
    // The fields of Kubernetes that the chart sets.
    'deploy/helm/isthmus/templates/daemonset.yaml',
  ];
  const known = new Set(
    sources.flatMap((path) => readFileSync(join(root, path), 'utf8').match(/\w+/g) ?? []),
  );
  const camelCase = /(?<![\w$-])[a-z]+(?:[A-Z][a-z0-9]*)+/g;
  const wrong = found(
    pages().filter((path) => path.startsWith('docs/how-to/')),
    (line) =>
      (line.match(/`[^`]*`/g) ?? [])
        .flatMap((code) => code.match(camelCase) ?? [])
        .some((name) => !known.has(name)),
  );
  expect(wrong).toEqual([]);
});

test('the README stays short', () => {
  const words = readFileSync(join(root, 'README.md'), 'utf8').split(/\s+/).filter(Boolean).length;
  expect(words).toBeLessThanOrEqual(900);
});
