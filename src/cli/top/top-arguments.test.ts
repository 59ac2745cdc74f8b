import { describe, expect, test } from 'vitest';
import { topArguments } from './top-arguments.ts';

const DEFAULT = {
  kind: 'read',
  endpoint: { host: '127.0.0.1', port: 9580 },
  intervalMs: 1000,
  sort: 'connections',
  once: false,
  json: false,
};

test.each<[args: string[], parts: object]>([
  [[], {}],
  [['--once'], { once: true }],
  [['--json'], { json: true }],
  [['--interval', '500ms'], { intervalMs: 500 }],
  [['--interval=1m'], { intervalMs: 60_000 }],
  [
    ['--sort', 'bytes', '--once', '--admin', '[::1]:1'],
    { sort: 'bytes', once: true, endpoint: { host: '::1', port: 1 } },
  ],
  [['--sort=state', '--admin=2'], { sort: 'state', endpoint: { host: undefined, port: 2 } }],
])('%j is read', (args, parts) => {
  expect(topArguments(args, {})).toEqual({ ...DEFAULT, ...parts });
});

test('the variable names the admin port', () => {
  expect(topArguments([], { ISTHMUS_ADMIN: '127.0.0.1:7' })).toMatchObject({ endpoint: { port: 7 } });
});

test.each([
  [['alpha']],
  [['--interval']],
  [['--sort']],
  [['--sort', 'name', '--sort=name']],
  [['--interval=1s', '--interval', '1s']],
  [['--every', '1s']],
  [['--once=yes']],
  [['--admin']],
])('%j is not understood', (args) => {
  expect(topArguments(args, {})).toEqual({ kind: 'usage' });
});

describe('invalid values', () => {
  test.each([['100ms'], ['61s'], ['0s'], ['1'], ['-1s'], ['1e3s'], ['']])('an interval of %j', (value) => {
    expect(topArguments([`--interval=${value}`], {})).toMatchObject({
      kind: 'problems',
      problems: [{ where: '--interval', value, wanted: expect.stringContaining('200ms to 1m') }],
    });
  });

  test('are all listed at once', () => {
    const read = topArguments(['--sort', 'size', '--interval', 'often', '--admin', 'x'], {});
    expect(read.kind === 'problems' && read.problems.map(({ where }) => where)).toEqual([
      '--admin',
      '--interval',
      '--sort',
    ]);
  });
});
