// Finds a key that appears twice in one mapping of a YAML document. The parser's own check compares each key with all earlier keys,
// which took seconds for twenty thousand keys. The parser runs with `uniqueKeys: false`, and this linear check replaces it.
import { type Document, isScalar, visit } from 'yaml';

/** The position of the second occurrence; null if all keys are unique. */
export function duplicateKey(
  document: Pick<Document, 'contents'>,
): { readonly pos: number; readonly code: 'DUPLICATE_KEY'; readonly message: string } | null {
  let pos: number | null = null;
  visit(document.contents, {
    Map: (_key, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          pos = key.range?.[0] ?? 0;
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return pos === null ? null : { pos, code: 'DUPLICATE_KEY', message: 'Map keys must be unique' };
}
