// Runs every `sh run` block of the documentation, page by page, in one shell for each page, and compares what it prints with the page.
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, pages } from './page-blocks.ts';
import { ShellSession } from './shell-session.ts';
import { isAsShown } from './shown-output.ts';

const hasCurl = spawnSync('curl', ['--version']).status === 0;
const runnable = pages()
  .map((page) => ({ page, blocks: blocksOf(page).filter(({ info }) => info === 'run') }))
  .filter(({ blocks }) => blocks.length > 0);

test('finds the tutorial', () => {
  expect(runnable.map(({ page }) => page)).toContain('docs/tutorial/first-cluster.md');
});

describe.skipIf(!hasCurl)('the commands of the documentation work as pasted (needs curl)', () => {
  describe.each(runnable)('$page', ({ blocks }) => {
    let session: ShellSession;
    beforeAll(() => {
      session = new ShellSession();
    });
    afterAll(() => session.stop());
    let broken: string | null = null;

    test.each(blocks)('$place', async ({ place, text, shown }) => {
      if (broken !== null) throw new Error(`not run: ${broken} failed, and this block needs it`);
      broken = place;
      const { printed, failed, exitCode } = await session.run(text);
      expect({ failed, exitCode }, printed).toEqual({ failed: [], exitCode: 0 });
      // The diff of a failure is that of the two texts.
      if (shown !== null && !isAsShown(shown, printed)) expect(printed).toBe(shown);
      broken = null;
    });
  });
});

describe('the comparison with the page', () => {
  test.each([
    ['accepts equal text', 'one\ntwo', 'one\ntwo\n', true],
    ['accepts any text for … within a line', 'up … s, ready', 'up 12 s, ready\n', true],
    ['accepts any number of lines for a line that is only …', 'a\n…\nz', 'a\nb\nc\nz\n', true],
    ['accepts no line for a line that is only …', 'a\n…\nz', 'a\nz\n', true],
    ['ignores spaces at the end of a line', 'a\nb', 'a  \nb\n', true],
    ['rejects another word', 'one', 'two\n', false],
    ['rejects a line too many', 'one', 'one\ntwo\n', false],
    ['rejects a missing line', 'one\ntwo', 'one\n', false],
    ['rejects a line break for … within a line', 'a … b', 'a x\ny b\n', false],
    ['takes the characters of regular expressions literally', 'a.c (1)', 'abc 1\n', false],
  ])('%s', (_title, shown, printed, expected) => {
    expect(isAsShown(shown, printed)).toBe(expected);
  });
});

describe('a shell session', () => {
  let session: ShellSession;
  beforeAll(() => {
    session = new ShellSession();
  });
  afterAll(() => session.stop());

  test('keeps variables from block to block and reads blocks in a shell that a block starts', async () => {
    await session.run('word=kept\nexport word');
    await session.run('bash');
    expect(await session.run('echo "$word"')).toEqual({ printed: 'kept\n', failed: [], exitCode: 0 });
    await session.run('exit');
  });

  test('reports a command that fails in the middle of a block', async () => {
    expect(await session.run('echo before\nls /nonexistent 2> /dev/null\necho after')).toEqual({
      printed: 'before\nafter\n',
      failed: ['ls /nonexistent 2> /dev/null'],
      exitCode: 0,
    });
  });

  test('reports a shell that a block ends', async () => {
    await expect(session.run('exit 3')).rejects.toThrow('the shell ended');
  });
});
