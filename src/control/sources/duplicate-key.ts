// A key that stands twice in one mapping of a YAML document. The parser looks for it too, by comparing each key with all before it:
// twenty thousand of them in one mapping took it seconds. So its own check is switched off (`uniqueKeys: false`), and this is asked.
import { type Document, isScalar, visit } from 'yaml';

/** Where it stands the second time; null: nowhere. */
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
