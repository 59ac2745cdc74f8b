// Compares the pages of docs/reference with the source that they are made from. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { REASONS } from '../../scripts/reference/logs.ts';
import { page, table } from '../../scripts/reference/page.ts';
import { referencePages } from '../../scripts/reference/pages.ts';
import { OUTCOME_MEANINGS } from '../../src/proxy/native/outcomes.ts';
import { OTHER_FIELDS } from '../../src/telemetry/log/log-fields.ts';

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

// The compiler finds a field that is logged and has no meaning. It cannot find a meaning whose field is no longer logged.
test('every log field that the page names is logged', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|log-fields\.ts$/.test(path))
    .map((path) => read(join('src', path)))
    .filter((text) => /\bLog(ger)?\b/.test(text))
    .join('\n');
  const isLogged = (field: string) => new RegExp(`[{,]\\s*${field}\\s*[:,}]`).test(sources);
  expect(Object.keys(OTHER_FIELDS).filter((field) => !isLogged(field))).toEqual([]);
});

describe('the page of symptoms', () => {
  const text = read('docs/how-to/troubleshooting.md');

  test('names every outcome and every reason of a connection', () => {
    const words = [OUTCOME_MEANINGS, ...Object.values(REASONS)].flatMap((each) => Object.keys(each));
    expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([]);
  });

  test('links the runbook of every alert', () => {
    const alerts = [...read('deploy/helm/isthmus/files/alerts.yaml').matchAll(/^- alert: (\w+)$/gm)];
    expect(alerts.length).toBeGreaterThan(0);
    expect(alerts.filter(([, alert]) => !text.includes(`](runbooks/${alert}.md)`))).toEqual([]);
  });
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
