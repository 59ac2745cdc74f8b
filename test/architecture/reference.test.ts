// Compares the pages of docs/reference with the source that they are made from. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { page, table } from '../../scripts/reference/page.ts';
import { referencePages } from '../../scripts/reference/pages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = referencePages();

const read = (path: string): string => {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return '';
  }
};

test.each(pages)('$path is what npm run docs writes', ({ path, text }) => {
  expect(read(path), `${path} is stale: run npm run docs`).toBe(text);
});

test('every page of docs/reference is generated, and docs/README.md links it', () => {
  const paths = pages.map((each) => each.path);
  expect(readdirSync(join(root, 'docs/reference')).map((name) => `docs/reference/${name}`)).toEqual(
    paths.toSorted(),
  );
  const index = read('docs/README.md');
  expect(paths.filter((path) => !index.includes(`](${path.replace('docs/', '')})`))).toEqual([]);
});

describe('a page', () => {
  test('names its sources', () => {
    const { path, text } = page({ name: 'x', title: 'X', sources: ['src/x.ts'], blocks: ['one'] });
    expect(path).toBe('docs/reference/x.md');
    expect(text).toContain('from [src/x.ts](../../src/x.ts). Do not edit it by hand.\n\none\n');
  });

  test('shows bars and angle brackets of a cell as text', () => {
    expect(table(['a'], [['`<b>|c`'], ['<d>']])).toBe('| a |\n| --- |\n| `<b>\\|c` |\n| &lt;d> |');
  });
});
