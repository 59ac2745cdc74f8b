// The sizes of folders: `ls` should show the architecture. `npm run check` runs this file.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const MAX_FILES = 25;
const MAX_LOOSE_SOURCES = 4;

const isTestFile = (name: string): boolean => /\.(test|conformance|e2e|helm|image)\.ts$/.test(name);

const entriesOf = (place: string) => readdirSync(join(root, place), { withFileTypes: true });
const filesIn = (place: string): string[] =>
  entriesOf(place).flatMap((each) => (each.isFile() && !isTestFile(each.name) ? [each.name] : []));
const foldersBelow = (place: string): string[] =>
  entriesOf(place).flatMap((each) => {
    const path = join(place, each.name);
    return each.isDirectory() ? [path, ...foldersBelow(path)] : [];
  });

test.each(['src', 'native', 'demo', 'scripts', 'test'])(
  'no folder of %s has more than 25 files besides tests',
  (place) => {
    const large = [place, ...foldersBelow(place)].filter((each) => filesIn(each).length > MAX_FILES);
    expect(large).toEqual([]);
  },
);

test('src has at most four loose files', () => {
  expect(filesIn('src').length).toBeLessThanOrEqual(MAX_LOOSE_SOURCES);
});

test('test has no loose file', () => {
  expect(entriesOf('test').filter((each) => each.isFile())).toEqual([]);
});

test('scripts has no loose file but the entry of all npm scripts', () => {
  expect(filesIn('scripts')).toEqual(['task.mjs']);
});
