// The nightly run goes on after a failed part, reports all parts, and fails if one of them failed.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

interface Part {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}
const root = fileURLToPath(new URL('../..', import.meta.url));
const { chosenParts, PARTS, runNightly } = (await import(`${root}/scripts/test/nightly.mjs`)) as {
  PARTS: readonly Part[];
  chosenParts: (words: readonly string[]) => Part[];
  runNightly: (
    words: readonly string[],
    options: { run: (part: Part) => Promise<number>; say: (line: string) => void; parts: readonly Part[] },
  ) => Promise<number>;
};

const parts = ['check', 'test', 'demo'].map((name) => ({ name, args: [name] }));

test.each([
  ['passes if all parts pass', {}, 0, /check\s+passed[\s\S]*test\s+passed[\s\S]*demo\s+passed/],
  [
    'goes on after a failed part, and fails',
    { test: 7 },
    1,
    /check\s+passed\s+0\.0\s+0\ntest\s+FAILED\s+0\.0\s+7\ndemo\s+passed\s+0\.0\s+0\n$/,
  ],
] as const)('the run %s', async (_title, codes: Record<string, number>, expected, table) => {
  const ran: string[] = [];
  let said = '';
  const run = async ({ name }: Part) => {
    ran.push(name);
    return codes[name] ?? 0;
  };
  const say = (line: string) => {
    said += line;
  };
  expect(await runNightly([], { run, say, parts })).toBe(expected);
  expect(ran).toEqual(['check', 'test', 'demo']);
  expect(said).toContain('=== part 2 of 3: test');
  expect(said).toMatch(table);
});

test('words choose parts, and a word without a match is an error that lists all parts', () => {
  expect(chosenParts(['helm', 'deb']).map(({ name }) => name)).toEqual(['deb']);
  expect(() => chosenParts(['nothing'])).toThrow(/no part is called nothing.*end-to-end/);
});

test('the nightly run contains every command of CI', () => {
  const ci = readFileSync(`${root}/.ci/run`, 'utf8');
  const commands = [...ci.matchAll(/^npm (?:run --silent )?(\S+)/gm)].map(([, name]) => name);
  expect(commands).toEqual(
    expect.arrayContaining(['check', 'test', 'demo', 'test:e2e', 'test:unprivileged']),
  );
  const longForms = PARTS.filter(({ args }) => args[0] === 'test').map(({ env }) => env?.ISTHMUS_TEST_LONG);
  expect(longForms).toEqual(['1', '1', '1']);
  const tasks = PARTS.map(({ args }) => args[0]);
  expect(commands.filter((name) => !tasks.includes(name))).toEqual([]);
});
