// The unprivileged rerun in CI: a test that depends on privileges cannot silently be left out of it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { INDEPENDENT, privilegedTests } = (await import(join(root, 'scripts', 'test', 'privileges.mjs'))) as {
  INDEPENDENT: readonly string[];
  privilegedTests: () => string[];
};

const filesBelow = (place: string): string[] =>
  readdirSync(join(root, place), { recursive: true, encoding: 'utf8' }).map((file) => join(place, file));
const testFiles = (place: string) => filesBelow(place).filter((file) => file.endsWith('.test.ts'));
const independentFiles = INDEPENDENT.map((name) => `test/${name}`).flatMap((place) =>
  place.endsWith('.test.ts') ? [place] : testFiles(place),
);

/** The file and all files of test/ that it imports, directly or not. Sources in src/ get what they need as options. */
function withImports(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file) || !existsSync(join(root, file))) return seen;
  seen.add(file);
  for (const [, target = ''] of readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+\.ts)'/g)) {
    const path = join(dirname(file), target);
    if (path.startsWith('test/')) withImports(path, seen);
  }
  return seen;
}

/** Parts that make namespaces, load the addon or start the built program, and commands that do so. */
const DEPENDS = [
  /^import (?!type)[^;]* from '[^']*(support\/network\/|support\/isthmus|support\/unit|netns\/native)[^']*';$/m,
  /(spawn|spawnSync|execFile|execFileSync)\(\s*'(ip|unshare|setpriv|mount)'/,
  /sandbox\/sandbox\.mjs/,
];
const dependsOnPrivileges = (text: string) => DEPENDS.some((pattern) => pattern.test(text));

test('every test file is beside a source, independent, or in the rerun', () => {
  const rerun = privilegedTests();
  const outside = testFiles('test').filter(
    (file) => !rerun.some((folder) => file.startsWith(folder)) && !independentFiles.includes(file),
  );
  expect(outside).toEqual([]);
  expect(rerun).toEqual(
    expect.arrayContaining(['test/netns/', 'test/engines/', 'test/attacks/', 'test/proxy/']),
  );
});

test('every independent folder and file exists, and the rerun does not contain it', () => {
  expect(INDEPENDENT.filter((name) => !existsSync(join(root, 'test', name)))).toEqual([]);
  const rerun = privilegedTests();
  expect(independentFiles.filter((file) => rerun.some((each) => file.startsWith(each)))).toEqual([]);
});

test('tests outside the rerun do not depend on privileges', () => {
  const outside = [...['src', 'demo'].flatMap(testFiles), ...independentFiles];
  const depending = outside.filter((file) =>
    [...withImports(file)].some((each) => dependsOnPrivileges(readFileSync(join(root, each), 'utf8'))),
  );
  expect(depending.map((file) => relative('.', file))).toEqual([]);
});

test('the check recognises the tests of the addon and of the built program as depending on privileges', () => {
  for (const place of ['test/netns/dial.test.ts', 'test/proxy/life.test.ts', 'test/scripts/sandbox.test.ts'])
    expect(
      [...withImports(place)].some((each) => dependsOnPrivileges(readFileSync(join(root, each), 'utf8'))),
    ).toBe(true);
});
