// The contents of all manifest files as one snapshot. Pure: it depends on names and contents, never on the order in which
// files were read.
import { keyOf, originOf } from './cluster-reading.ts';
import type { ClusterReading, Problem, SourceSnapshot } from './cluster-source.ts';
import { byText } from './text-order.ts';

export interface FileContent {
  readonly stamp: string | null;
  /** What counts: the file as it is, or as it last was without error. */
  readonly clusters: readonly ClusterReading[];
  readonly errors: readonly Problem[];
  readonly skipped: readonly Problem[];
  readonly lastGood: readonly ClusterReading[] | null;
}

export function mergedSnapshot(
  files: ReadonlyMap<string, FileContent>,
  listed: boolean,
  directoryProblems: readonly Problem[],
): SourceSnapshot {
  const byKey = new Map<string, ClusterReading>();
  const problems: Problem[] = [...directoryProblems];
  let complete = listed;
  for (const [, file] of [...files].sort(([a], [b]) => byText(a, b))) {
    if (file.errors.length > 0) complete = false;
    problems.push(...file.errors, ...file.skipped);
    for (const reading of file.clusters) {
      const key = keyOf(reading);
      const first = byKey.get(key);
      if (first === undefined) byKey.set(key, reading);
      else {
        const reason = `${key} is in ${originOf(first)} too, and the first by name counts: remove one of them`;
        problems.push({ origin: originOf(reading), reason });
      }
    }
  }
  return Object.freeze({
    complete,
    clusters: Object.freeze([...byKey.values()].sort((a, b) => byText(keyOf(a), keyOf(b)))),
    problems: Object.freeze(
      problems.sort((a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason)),
    ),
  });
}
