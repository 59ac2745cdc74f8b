// What CI tolerates: a few files that fail in a parallel run and pass three times alone. Nothing else.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

interface Failed {
  readonly file: string;
  readonly tests: readonly string[];
}
type Say = { readonly say: (line: string) => void };
type Run = (args: readonly string[], env: Record<string, string>) => Promise<number>;
const root = fileURLToPath(new URL('../..', import.meta.url));
const { failedFiles, runVitest, secondLook } = (await import(
  join(root, 'scripts', 'test', 'second-look.mjs')
)) as {
  failedFiles: (report: unknown) => Failed[];
  runVitest: (run: Run, args: readonly string[], chosen: readonly string[], options: Say) => Promise<number>;
  secondLook: (
    failed: readonly Failed[],
    again: (file: string) => Promise<number>,
    options: Say,
  ) => Promise<number>;
};

const file = (name: string): Failed => ({ file: name, tests: ['waits'] });

test.each([
  ['a file that passes three times alone is forgiven', [file('a')], [0, 0, 0], 0, ['a', 'a', 'a']],
  ['a file that fails the third time is not forgiven', [file('a')], [0, 0, 1], 1, ['a', 'a', 'a']],
  ['a file that fails at once is not forgiven and ends the check', [file('a'), file('b')], [1], 1, ['a']],
  [
    'of two failed files, both must pass',
    [file('a'), file('b')],
    [0, 0, 0, 0, 1],
    1,
    ['a', 'a', 'a', 'b', 'b'],
  ],
  ['four failed files are not run again', ['a', 'b', 'c', 'd'].map(file), [], 1, []],
  ['a run that failed without a failed file is not forgiven', [], [], 1, []],
])('%s', async (_title, failed, codes, expected, asked) => {
  const seen: string[] = [];
  let said = '';
  const code = await secondLook(
    failed,
    async (name) => {
      seen.push(name);
      return codes[seen.length - 1] ?? 99;
    },
    {
      say: (line) => {
        said += line;
      },
    },
  );
  expect(code).toBe(expected);
  expect(seen).toEqual(asked);
  expect(said.includes('UNSTEADY')).toBe(expected === 0);
  if (expected === 0) expect(said).toContain('a: waits');
});

const ended = { reason: 'failed', unhandledErrors: 0 };
const passed = {
  file: join(root, 'test/a.test.ts'),
  state: 'passed',
  tests: [{ name: 'x', state: 'passed' }],
};
const broken = {
  file: join(root, 'test/b.test.ts'),
  state: 'failed',
  tests: [
    { name: 'y', state: 'skipped' },
    { name: 'z breaks', state: 'failed' },
  ],
};
const asWhole = { file: join(root, 'test/c.test.ts'), state: 'failed', tests: [] };

test('the failed files come from the report, with their failed tests', () => {
  expect(failedFiles({ ...ended, files: [passed, broken, asWhole] })).toEqual([
    { file: 'test/b.test.ts', tests: ['z breaks'] },
    { file: 'test/c.test.ts', tests: [] },
  ]);
});

test.each<[title: string, report: unknown]>([
  ['it is missing', null],
  ['it has an unhandled error', { ...ended, unhandledErrors: 1, files: [broken] }],
  ['it was cut short', { ...ended, reason: 'interrupted', files: [broken] }],
  ['a file did not begin', { ...ended, files: [broken, { ...passed, state: 'queued' }] }],
  [
    'a test did not end',
    { ...ended, files: [broken, { ...passed, tests: [{ name: 'x', state: 'pending' }] }] },
  ],
])('a report has no files to run again if %s', (_title, report) => {
  expect(failedFiles(report)).toEqual([]);
});

const LONGEST_RUN_MS = 120_000;

/** A real run of vitest on these files, in CI mode. */
async function runOf(
  sources: Readonly<Record<string, string>>,
): Promise<{ code: number; runs: number; unsteady: boolean }> {
  mkdirSync(join(root, '.cache'), { recursive: true });
  const directory = mkdtempSync(join(root, '.cache', 'second-look-'));
  const { CI } = process.env;
  process.env.CI = 'true';
  try {
    for (const [name, source] of Object.entries(sources))
      writeFileSync(
        join(directory, `${name}.test.ts`),
        `import { existsSync, writeFileSync } from 'node:fs';\nimport { expect, test } from 'vitest';\n${source}\n`,
      );
    const config = join(directory, 'vitest.config.ts');
    writeFileSync(
      config,
      `export default { test: { include: ['${directory}/*.test.ts'], pool: 'forks', testTimeout: 60_000 } };`,
    );
    const bare = Object.entries(process.env).filter(([name]) => !/^VITEST/.test(name));
    let runs = 0;
    let said = '';
    const run: Run = async (args, env) => {
      runs += 1;
      const environment = { ...Object.fromEntries(bare), ISTHMUS_TEST_EXIT_MS: '2000', ...env };
      const options = { cwd: root, env: environment, stdio: 'ignore', timeout: LONGEST_RUN_MS } as const;
      return spawnSync(process.execPath, args, options).status ?? 1;
    };
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const code = await runVitest(run, [vitest, 'run', '--config', config], [], {
      say: (line) => {
        said += line;
      },
    });
    return { code, runs, unsteady: said.includes('UNSTEADY') };
  } finally {
    if (CI === undefined) delete process.env.CI;
    else process.env.CI = CI;
    rmSync(directory, { recursive: true, force: true });
  }
}

const FLAKES = `test('flakes', () => {
  const mark = import.meta.filename + '.mark';
  const was = existsSync(mark);
  writeFileSync(mark, '');
  expect(was).toBe(true);
});`;
const PASSES = `test('passes', () => expect(1).toBe(1));`;

test.each<[title: string, sources: Record<string, string>, code: number, runs: number]>([
  ['a flaky file is forgiven', { a: FLAKES, b: PASSES }, 0, 4],
  [
    'a file that also fails alone is not forgiven',
    { a: `test('fails', () => expect(1).toBe(2));`, b: PASSES },
    1,
    2,
  ],
  [
    'a flaky file is not forgiven while another file has an unhandled error',
    { a: FLAKES, b: `test('leaves', async () => { void Promise.reject(new Error('x')); });` },
    1,
    1,
  ],
  [
    'a flaky file is not forgiven while the process of another file dies',
    {
      a: FLAKES,
      b: `test('dies', async () => { process.kill(process.pid, 'SIGSEGV'); await new Promise(() => {}); });`,
    },
    1,
    1,
  ],
])('in a real run, %s', async (_title, sources, code, runs) => {
  expect(await runOf(sources)).toEqual({ code, runs, unsteady: code === 0 });
});

test('in a real run, a file that leaves a process behind does not keep the run open', async () => {
  const leaves = `import { spawn } from 'node:child_process';
test('leaves', () => {
  spawn('sleep', ['${(2 * LONGEST_RUN_MS) / 1000}'], { stdio: ['ignore', 'inherit', 'inherit'], detached: true }).unref();
});`;
  expect(await runOf({ a: leaves, b: PASSES })).toMatchObject({ code: 0, runs: 1 });
});
