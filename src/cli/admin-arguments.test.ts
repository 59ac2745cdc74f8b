import { expect, test } from 'vitest';
import { adminArguments } from './admin-arguments.ts';

const HERE = { host: '127.0.0.1', port: 9580 };

test.each<[args: string[], expected: object]>([
  [['alpha'], { endpoint: HERE, json: false, words: ['alpha'] }],
  [['--json', 'alpha'], { endpoint: HERE, json: true, words: ['alpha'] }],
  [['alpha', '--admin', '1'], { endpoint: { host: undefined, port: 1 }, words: ['alpha'] }],
  [['--admin=127.0.0.1:1', 'alpha'], { endpoint: { host: '127.0.0.1', port: 1 } }],
])('the arguments %j are read', (args, expected) => {
  expect(adminArguments(args, {}, { words: 1 })).toMatchObject({ kind: 'read', ...expected });
});

test.each([[[]], [['a', 'b']], [['a', '--admin']], [['a', '--what']], [['a', '--admin=1', '--admin=2']]])(
  'the arguments %j are a usage error',
  (args) => {
    expect(adminArguments(args, {}, { words: 1 })).toEqual({ kind: 'usage' });
  },
);

test('the variable applies without a flag and is named if it is wrong', () => {
  expect(adminArguments([], { ISTHMUS_ADMIN: '7' })).toMatchObject({ endpoint: { port: 7 } });
  expect(adminArguments([], { ISTHMUS_ADMIN: 'x' })).toMatchObject({
    kind: 'problems',
    problems: [{ where: 'ISTHMUS_ADMIN', value: 'x' }],
  });
  expect(adminArguments(['--admin', '8'], { ISTHMUS_ADMIN: 'x' })).toMatchObject({
    endpoint: { port: 8 },
  });
});
