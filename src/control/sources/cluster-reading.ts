// What every reading has, whatever its kind.
import type { ClusterFacts, ClusterObject, ClusterReading } from './cluster-source.ts';

/** Of the object: `<namespace>/<metadata.name>`. */
export const keyOf = (reading: ClusterReading): string => common(reading).key;
export const originOf = (reading: ClusterReading): string => common(reading).origin;
/** Of the cluster, from its label; empty where the object has none. */
export const nameOf = (reading: ClusterReading): string => common(reading).name;
export const namespaceOf = (reading: ClusterReading): string => common(reading).namespace;
/** Infinity where it is not known: whoever can prove an age comes first. */
export const createdAtOf = (reading: ClusterReading): number =>
  common(reading).createdAtMs ?? Number.POSITIVE_INFINITY;
/** null where there is no object in an API, or it has no name that others could refer to. */
export const objectOf = (reading: ClusterReading): ClusterObject | null => common(reading).object ?? null;

/** null where every network of spec is one of status, or is trusted. */
export const unusedSpecNetworkOf = (reading: ClusterReading): string | null =>
  common(reading).unusedSpecNetworkId ?? null;

/** The reading is of the very object that these facts were read from: not of another that was made under its name. */
function isSameObject(reading: ClusterReading, facts: ClusterFacts): boolean {
  const uid = objectOf(reading)?.uid ?? null;
  // No uid: read from a file, or kept by ourselves from an earlier turn. What the API lists has one.
  return uid === null || uid === (facts.object?.uid ?? null);
}

/**
 * Whether facts that were read before still hold for a reading without facts of its own. An object that was made anew under the same
 * name is another tenant's as far as we know. Only a restore keeps the route: it has the same cluster name and the same endpoint in spec,
 * where a new cluster has no endpoint before its first status. Such an object chooses nothing: address, port and network are all the
 * former object's, and lead to the former API server.
 */
export function speaksFor(reading: ClusterReading, facts: ClusterFacts): boolean {
  if (isSameObject(reading, facts)) return true;
  const server = objectOf(reading)?.directServer ?? null;
  return server !== null && server === facts.object?.directServer && nameOf(reading) === facts.name;
}

/**
 * Where the machines of the cluster are; null while that is not known. Facts of a former object of this name do not count: the machines
 * are new as well, and would be addresses that one tenant chose in the network of another.
 */
export function machineNetworkOf(reading: ClusterReading, known: ClusterFacts | undefined): string | null {
  const own = common(reading).clusterNetworkId;
  const kept = known !== undefined && isSameObject(reading, known) ? known.clusterNetworkId : undefined;
  return own ?? kept ?? null;
}

const common = (reading: ClusterReading) => (reading.kind === 'proxied' ? reading.facts : reading);
