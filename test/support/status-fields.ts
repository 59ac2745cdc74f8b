// Finds fields of a real /status answer that the reference page does not have.
import { STATUS_TABLES } from '../../scripts/reference/status-fields.ts';

export function undocumentedFields(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => undocumentedFields(each, `${path}[]`));
  if (value === null || typeof value !== 'object') return [];
  const table = STATUS_TABLES[path];
  // `pressure` and `calls` are counts with a name each.
  if (table === undefined) {
    return Object.values(value).every((each) => typeof each === 'number') ? [] : [path];
  }
  return Object.entries(value).flatMap(([name, each]) =>
    Object.hasOwn(table, name) ? undocumentedFields(each, `${path}.${name}`) : [`${path}.${name}`],
  );
}
