// The page of the flags and variables of `isthmus run`.
import { flagReference } from '../../src/cli/config/flags.ts';
import { code, page, type ReferencePage, table } from './page.ts';

export function flags(): ReferencePage {
  const groups = Map.groupBy(flagReference(), ({ group }) => group);
  const blocks = [...groups].flatMap(([group, members]) => [
    `## ${group}`,
    table(
      ['flag', 'value', 'variable', 'default', 'effect'],
      members.map(({ name, placeholder, variable, otherVariables, fallback, help, note }) => [
        code(name),
        placeholder === '' ? 'a switch' : code(placeholder),
        [variable, ...otherVariables].map(code).join(', '),
        placeholder === '' ? 'off' : fallback,
        note === '' ? help : `${help}. ${note}`,
      ]),
    ),
  ]);
  return page({
    name: 'flags',
    title: 'Flags and variables of isthmus run',
    sources: ['src/cli/config/flags.ts'],
    blocks: [
      'A flag wins over its variable `ISTHMUS_…`, and that variable wins over the other variables in its row. They are those of ' +
        '[magnum-cluster-api-proxy](../how-to/migration.md) and of Kubernetes. `isthmus doctor` reads the same flags and variables.',
      ...blocks,
    ],
  });
}
