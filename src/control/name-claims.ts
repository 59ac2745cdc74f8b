// Which of several objects may use a cluster name. Every instance must decide alike, and nobody may take a name over by
// creating an object: refusing all claimants would let anyone cut a cluster off, and the order of keys alone would let
// whoever sorts first take it. So the proxy's own namespace comes first, then age (the API server sets it), then the key.
import { isClusterName } from './cluster-name.ts';
import { createdAtOf, keyOf, nameOf, namespaceOf, originOf } from './cluster-reading.ts';
import type { ClusterFacts, ClusterReading } from './cluster-source.ts';
import { byText } from './text-order.ts';

export interface NameClaims {
  /** The key of the object that has the name. */
  holder(name: string): string | undefined;
  /** Why another object, not this one, has the name it asks for. */
  refusal(loser: ClusterReading): string;
}

export function nameClaims(
  clusters: readonly ClusterReading[],
  lastKnown: ReadonlyMap<string, ClusterFacts>,
  ownNamespace: string,
): NameClaims {
  const holders = new Map<string, ClusterReading>();

  // An object that was never right has the weakest claim; one that was and now lacks facts must not lose its name for it.
  const unproven = (reading: ClusterReading) =>
    reading.kind === 'invalid' && lastKnown.get(keyOf(reading))?.name !== nameOf(reading);
  const foreign = (reading: ClusterReading) => namespaceOf(reading) !== ownNamespace;
  const order = (a: ClusterReading, b: ClusterReading): number =>
    Number(unproven(a)) - Number(unproven(b)) ||
    Number(foreign(a)) - Number(foreign(b)) ||
    byNumber(createdAtOf(a), createdAtOf(b)) ||
    byText(keyOf(a), keyOf(b));

  for (const reading of clusters) {
    const name = nameOf(reading);
    if (reading.kind === 'not-proxied' || !isClusterName(name)) continue;
    const holder = holders.get(name);
    if (holder === undefined || order(reading, holder) < 0) holders.set(name, reading);
  }

  return {
    holder(name) {
      const holder = holders.get(name);
      return holder === undefined ? undefined : keyOf(holder);
    },
    refusal(loser) {
      const name = nameOf(loser);
      const holder = holders.get(name);
      if (holder === undefined) return '';
      const why =
        unproven(holder) !== unproven(loser)
          ? 'is valid'
          : foreign(holder) !== foreign(loser)
            ? `is in namespace ${ownNamespace}`
            : createdAtOf(holder) !== createdAtOf(loser)
              ? 'is older'
              : 'comes first by name';
      return (
        `the cluster name ${name} belongs to ${keyOf(holder)} (${originOf(holder)}), which ${why}; ` +
        'this one is served once the other is gone or either is renamed'
      );
    },
  };
}

/** Infinity minus itself is NaN. */
const byNumber = (a: number, b: number): number => (a === b ? 0 : a - b);
