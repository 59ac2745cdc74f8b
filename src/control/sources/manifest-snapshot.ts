// Merges the contents of all manifest files into snapshots of clusters, listeners and machines. Pure: the result depends on
// names and contents, not on the order of reading.

import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import { keyOf, originOf } from './cluster-reading.ts';
import type { SourceSnapshot } from './cluster-source.ts';
import type { ListenerSnapshot } from './listener-snapshot.ts';
import { isControlPlane, type MachineFacts } from './machine.ts';
import type { Found, ManifestContents } from './manifest-reading.ts';

export interface FileContent {
  readonly stamp: string | null;
  /** The content in use: the current one, or the last one without errors. */
  readonly contents: ManifestContents;
  readonly errors: readonly Problem[];
  readonly skipped: readonly Problem[];
  readonly lastGood: ManifestContents | null;
}

export interface ManifestSnapshot {
  readonly clusters: SourceSnapshot;
  readonly listeners: ListenerSnapshot;
  /** The Machines of control planes. */
  readonly controlPlanes: readonly MachineFacts[];
}

export function mergedSnapshot(
  files: ReadonlyMap<string, FileContent>,
  listed: boolean,
  directoryProblems: readonly Problem[],
): ManifestSnapshot {
  const all = [...files].sort(([a], [b]) => byText(a, b)).map(([, file]) => file);
  const problems: Problem[] = [
    ...directoryProblems,
    ...all.flatMap(({ errors, skipped }) => [...errors, ...skipped]),
  ];
  const complete = listed && all.every(({ errors }) => errors.length === 0);
  const clusters = firstOfEach(
    all.flatMap(({ contents }) => contents.clusters),
    keyOf,
    originOf,
    problems,
  );
  const merged = <T extends { readonly key: string }>(
    part: (contents: ManifestContents) => readonly Found<T>[],
  ) =>
    firstOfEach(
      all.flatMap(({ contents }) => part(contents)),
      ({ value }) => value.key,
      ({ origin }) => origin,
      problems,
    ).map(({ value }) => value);
  const listeners = merged(({ listeners: found }) => found);
  const machines = merged(({ machines: found }) => found);
  return {
    clusters: Object.freeze({
      complete,
      clusters: Object.freeze(clusters),
      problems: Object.freeze(
        problems.sort((a, b) => byText(a.origin, b.origin) || byText(a.reason, b.reason)),
      ),
    }),
    listeners: Object.freeze({
      complete,
      listeners: Object.freeze(listeners),
      machines: Object.freeze(machines),
      // While the directory is unreadable, the earlier machines stay in use.
      machinesKnown: listed || files.size > 0,
      machinesProblem: null,
      problems: Object.freeze([]),
    }),
    controlPlanes: Object.freeze(machines.filter(isControlPlane)),
  };
}

/** The first item of each key, sorted by key. Every further item becomes a problem. */
function firstOfEach<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  originOf: (item: T) => string,
  problems: Problem[],
): T[] {
  const byKey = new Map<string, T>();
  for (const item of items) {
    const key = keyOf(item);
    const first = byKey.get(key);
    if (first === undefined) byKey.set(key, item);
    else {
      const reason = `${key} is in ${originOf(first)} too, and only the first by name is used: remove one of them`;
      problems.push({ origin: originOf(item), reason });
    }
  }
  return [...byKey.values()].sort((a, b) => byText(keyOf(a), keyOf(b)));
}
