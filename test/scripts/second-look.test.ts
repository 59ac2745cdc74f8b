// What CI forgives: a few files that fail beside others and pass three times alone. Nothing else.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

interface Failed {
  readonly file: string;
  readonly tests: readonly string[];
}
const root = fileURLToPath(new URL('../..', import.meta.url));
const { failedFiles, secondLook } = (await import(join(root, 'scripts', 'second-look.mjs'))) as {
  failedFiles: (report: unknown) => Failed[];
  secondLook: (
    failed: readonly Failed[],
    again: (file: string) => Promise<number>,
    options: { say: (line: string) => void },
  ) => Promise<number>;
};

const file = (name: string): Failed => ({ file: name, tests: ['waits'] });

it.each([
  ['a file that passes three times alone is forgiven', [file('a')], [0, 0, 0], 0, ['a', 'a', 'a']],
  ['one that fails the third time is not', [file('a')], [0, 0, 1], 1, ['a', 'a', 'a']],
  ['one that fails at once is not, and the next is not asked', [file('a'), file('b')], [1], 1, ['a']],
  ['of two, both must pass', [file('a'), file('b')], [0, 0, 0, 0, 1], 1, ['a', 'a', 'a', 'b', 'b']],
  ['four at once are not looked at again', ['a', 'b', 'c', 'd'].map(file), [], 1, []],
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

it('the failed files are those of the report, with their failed tests', () => {
  const testResults = [
    {
      name: join(root, 'test/a.test.ts'),
      status: 'passed',
      assertionResults: [{ status: 'passed', fullName: 'x' }],
    },
    {
      name: join(root, 'test/b.test.ts'),
      status: 'failed',
      assertionResults: [
        { status: 'passed', fullName: 'y' },
        { status: 'failed', fullName: 'z breaks' },
      ],
    },
    { name: join(root, 'test/c.test.ts'), status: 'failed', assertionResults: [] },
  ];
  expect(failedFiles({ testResults })).toEqual([
    { file: 'test/b.test.ts', tests: ['z breaks'] },
    { file: 'test/c.test.ts', tests: [] },
  ]);
});
