import { expect, test } from 'vitest';
import { type Check, type CheckResult, ok, problem, skipped, warning } from './check.ts';
import { type RunOptions, runChecks } from './run-checks.ts';

const check = (name: string, run: Check['run'], after?: string[]): Check => ({
  name,
  run,
  ...(after && { after }),
});

async function run(checks: readonly Check[], options: Partial<RunOptions> = {}) {
  const reported: string[] = [];
  const results = await runChecks(checks, {
    timeoutMs: 5000,
    onResult: ({ name }: CheckResult) => reported.push(name),
    onWaiting: () => {},
    ...options,
  });
  return { reported, findings: Object.fromEntries(results.map(({ name, finding }) => [name, finding])) };
}

test('checks run concurrently and are reported in the order of the list', async () => {
  const second = Promise.withResolvers<void>();
  const { reported, findings } = await run([
    check('first', async () => {
      await second.promise; // would wait forever if the checks ran one after the other
      return ok('1');
    }),
    check('second', () => {
      second.resolve();
      return ok('2');
    }),
  ]);
  expect(reported).toEqual(['first', 'second']);
  expect(findings).toEqual({ first: ok('1'), second: ok('2') });
});

test('a check that depends on one with a problem is skipped, and so are its dependents', async () => {
  const { findings } = await run([
    check('a', () => problem('broken', 'Fix it.')),
    check('b', () => ok('b'), ['a']),
    check('c', () => ok('c'), ['b']),
    check('d', () => ok('d')),
  ]);
  expect(findings).toMatchObject({
    b: skipped('not checked, because of a'),
    c: skipped('not checked, because of b'),
    d: ok('d'),
  });
});

test('a check that depends on one with a warning runs, and sees its result', async () => {
  let left = '';
  const { findings } = await run([
    check('a', () => {
      left = 'seen';
      return warning('odd', 'Look.');
    }),
    check('b', () => ok(left), ['a']),
  ]);
  expect(findings.b).toEqual(ok('seen'));
});

test('a check that does not end is a problem and does not block the report', async () => {
  const waiting: string[] = [];
  const { findings } = await run(
    [check('slow', () => new Promise(() => {})), check('quick', () => ok('q'))],
    {
      timeoutMs: 300,
      waitingEveryMs: 20,
      onWaiting: (names) => waiting.push(names.join()),
    },
  );
  expect(findings).toMatchObject({
    slow: { kind: 'problem', found: 'no answer within 0.3 s' },
    quick: ok('q'),
  });
  expect(waiting).toContain('slow');
});

test('a check that throws is reported as a bug, and the others continue', async () => {
  const { findings } = await run([
    check('a', () => {
      throw new Error('oops');
    }),
    check('b', () => ok('b')),
  ]);
  expect(findings).toMatchObject({
    a: { kind: 'problem', found: 'the check itself failed: oops' },
    b: ok('b'),
  });
});
