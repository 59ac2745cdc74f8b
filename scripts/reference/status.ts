// The page of the fields of /status.
import { code, page, type ReferencePage, table } from './page.ts';
import { type FieldTable, STATUS_TABLES } from './status-fields.ts';

const valuesText = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([value, meaning]) => `${code(value)}: ${meaning}`)
    .join('; ');

const rows = (prefix: string, fields: FieldTable): string[][] =>
  Object.entries(fields).map(([name, [type, meaning, values]]) => [
    code(`${prefix}.${name}`),
    type,
    values === undefined ? meaning : `${meaning}. ${valuesText(values)}`,
  ]);

export function status(): ReferencePage {
  const paths = Map.groupBy(Object.keys(STATUS_TABLES), (path) => STATUS_TABLES[path]!);
  return page({
    name: 'status',
    title: 'Fields of /status',
    sources: ['scripts/reference/status-fields.ts', 'src/telemetry/status/status.ts'],
    blocks: [
      '`--admin` serves this JSON at `/status`, and `isthmus status --json` prints it. Paths are those of `jq`. An object that occurs in several places has one table.',
      ...[...paths].flatMap(([fields, places]) => {
        const [first = ''] = places;
        const prefix = places.length === 1 ? first : '';
        return [
          `## ${first === '' ? 'The whole answer' : places.map(code).join(', ')}`,
          table(['field', 'type', 'meaning'], rows(prefix, fields)),
        ];
      }),
    ],
  });
}
