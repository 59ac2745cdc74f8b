// The page of the flags and variables of `isthmus run`.
import { flagReference } from '../../src/cli/config/flags.ts';
import { code, page, type ReferencePage, table } from './page.ts';

export function flags(): ReferencePage {
  const groups = Map.groupBy(flagReference(), ({ group }) => group);
  const blocks = [...groups].flatMap(([group, members]) => [
    `## ${group}`,
    table(
      ['flag', 'value', 'variable', 'default', 'effect'],
      members.map(({ name, placeholder, variable, fallback, help }) => [
        code(name),
        placeholder === '' ? 'a switch' : code(placeholder),
        code(variable),
        placeholder === '' ? 'off' : fallback,
        help,
      ]),
    ),
  ]);
  return page({
    name: 'flags',
    title: 'Flags and variables of isthmus run',
    sources: ['src/cli/config/flags.ts'],
    blocks: [
      'A flag wins over its variable. `isthmus doctor` reads the same flags and variables. ' +
        '[Migration](../how-to/migration.md) lists the variables of magnum-cluster-api-proxy that work too.',
      ...blocks,
    ],
  });
}
