// The page of the exit codes.
import { EXIT, EXIT_MEANINGS } from '../../src/cli/exit-codes.ts';
import { code, page, type ReferencePage, table } from './page.ts';

const NUMBERS: Readonly<Record<string, number | string>> = { ...EXIT, signal: '128 + n' };

export function exitCodes(): ReferencePage {
  return page({
    name: 'exit-codes',
    title: 'Exit codes',
    sources: ['src/cli/exit-codes.ts'],
    blocks: [
      'In every command, 0 is success, 1 is a failure, 2 is a wrong command line or configuration, and 128 + n means that signal n ended it. ' +
        'Every command exits with 1 if Node is too old. `isthmus` without a command, or with an unknown one, exits with 2; `--help` exits with 0.',
      table(
        ['command', 'exit code', 'meaning'],
        Object.entries(EXIT_MEANINGS).flatMap(([command, meanings]) =>
          Object.entries(meanings).map(([kind, meaning]) => [
            code(`isthmus ${command}`),
            `${NUMBERS[kind]}`,
            meaning,
          ]),
        ),
      ),
    ],
  });
}
