// Every promise of SECURITY.md names the tests that hold it, and these tests exist. `npm run check` runs this file.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The rows of all tables of a page, each as its cells. */
const rowsOf = (page: string): string[][] =>
  readFileSync(join(root, page), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .map((line) => line.slice(2, -2).split(' | '));
const isHeading = (cells: readonly string[]): boolean => cells.at(-1) === 'tests';

/** The paths of a cell. A name without a folder is in the folder of the path before it. */
function pathsIn(cell: string): string[] {
  const paths: string[] = [];
  for (const [, path] of cell.matchAll(/`([^`]+)`/g))
    paths.push(path!.includes('/') ? path! : join(dirname(paths.at(-1) ?? ''), path!));
  return paths;
}
const isThere = (path: string): boolean =>
  path.includes('*') ? globSync(path, { cwd: root }).length > 0 : existsSync(join(root, path));

test('every promise of SECURITY.md names tests that exist', () => {
  const promises = rowsOf('SECURITY.md').filter((cells) => !isHeading(cells));
  expect(promises.length).toBeGreaterThan(15);
  for (const cells of promises) {
    const [promise] = cells;
    const paths = pathsIn(cells.at(-1) ?? '');
    expect(paths, `tests of: ${promise}`).not.toEqual([]);
    expect(
      paths.filter((path) => !isThere(path)),
      `missing tests of: ${promise}`,
    ).toEqual([]);
  }
});
