import { expect, test } from 'vitest';
import { reloadArguments } from './reload-command.ts';

const ENVIRONMENT = { ISTHMUS_HANDOVER: '/run/a' };

test.each<
  [args: string[], environment: Record<string, string>, directory: string, takesEnvironment: boolean]
>([
  [[], ENVIRONMENT, '/run/a', false],
  [['--handover', '/run/b'], ENVIRONMENT, '/run/b', false],
  [['--with-environment', '--handover=/run/b'], {}, '/run/b', true],
])('isthmus reload reads %j', (args, environment, directory, takesEnvironment) => {
  expect(reloadArguments(args, environment)).toEqual({
    directory,
    environment: takesEnvironment ? environment : null,
  });
});

test.each([[[]], [['--handover']], [['--what']], [['word']]])('isthmus reload rejects %j', (args) => {
  expect(reloadArguments(args, {})).toEqual({ problem: expect.any(String) });
});
