import { expect, test } from 'vitest';
import { reloadArguments } from './reload-command.ts';

const ENVIRONMENT = { ISTHMUS_HANDOVER: '/run/a' };

test.each<
  [args: string[], environment: Record<string, string>, directory: string, takesEnvironment: boolean]
>([
  [[], ENVIRONMENT, '/run/a', false],
  [['--handover', '/run/b'], ENVIRONMENT, '/run/b', false],
  [['--with-environment', '--handover=/run/b'], {}, '/run/b', true],
])('%j', (args, environment, directory, takesEnvironment) => {
  expect(reloadArguments(args, environment)).toEqual({
    directory,
    environment: takesEnvironment ? environment : null,
  });
});

test.each([[[]], [['--handover']], [['--what']], [['word']]])('%j is a problem', (args) => {
  expect(reloadArguments(args, {})).toEqual({ problem: expect.any(String) });
});
