import { describe, expect, test } from 'vitest';
import { topArguments } from './top-command.ts';

const DEFAULT = {
  kind: 'read',
  endpoint: { host: '127.0.0.1', port: 9580 },
  json: false,
};
const VALUES = { interval: 1000, sort: 'connections' };

test.each<[args: string[], parts: object, values?: object]>([
  [[], {}],
  [['--once'], { switches: new Set(['once']) }],
  [['--json'], { json: true }],
  [['--interval', '500ms'], {}, { interval: 500 }],
  [['--interval=1m'], {}, { interval: 60_000 }],
  [
    ['--sort', 'bytes', '--once', '--admin', '[::1]:1'],
    { switches: new Set(['once']), endpoint: { host: '::1', port: 1 } },
    { sort: 'bytes' },
  ],
  [['--sort=state', '--admin=2'], { endpoint: { host: undefined, port: 2 } }, { sort: 'state' }],
])('%j is read', (args, parts, values) => {
  expect(topArguments(args, {})).toMatchObject({ ...DEFAULT, ...parts, values: { ...VALUES, ...values } });
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
