// Accessors for the fields that all kinds of readings share, and the rules for when earlier facts still apply to a new reading.
import type { ClusterFacts, ClusterObject, ClusterReading } from './cluster-source.ts';

/** `<namespace>/<metadata.name>` of the object. */
export const keyOf = (reading: ClusterReading): string => common(reading).key;
export const originOf = (reading: ClusterReading): string => common(reading).origin;
/** The name of the cluster, from its label; empty if the object has none. */
export const nameOf = (reading: ClusterReading): string => common(reading).name;
export const namespaceOf = (reading: ClusterReading): string => common(reading).namespace;
/** Infinity if unknown: an object with a known age takes precedence. */
export const createdAtOf = (reading: ClusterReading): number =>
  common(reading).createdAtMs ?? Number.POSITIVE_INFINITY;
/** null if the object has no usable name or no apiVersion. */
export const objectOf = (reading: ClusterReading): ClusterObject | null => common(reading).object ?? null;

/** The network id of spec that is not used. null if status confirms every network of spec, or if spec is trusted. */
export const unusedSpecNetworkOf = (reading: ClusterReading): string | null =>
  common(reading).unusedSpecNetworkId ?? null;

/** True if the reading is of the same object as the facts, not of a new object with the same name. */
function isSameObject(reading: ClusterReading, facts: ClusterFacts): boolean {
  const uid = objectOf(reading)?.uid ?? null;
  // A reading without uid comes from a file or was kept from an earlier turn. Every object from the API has a uid.
  return uid === null || uid === (facts.object?.uid ?? null);
}

/**
 * True if earlier facts still hold for a reading without facts. A new object with the same name may belong to another tenant, so the
 * earlier facts do not hold for it. The exception is a restored object, which has the same cluster name and the same endpoint in
 * spec. A new cluster has no endpoint before its first status. The exception is safe: address, port and network all come from the
 * previous object and lead to the previous API server.
 */
export function factsStillHold(reading: ClusterReading, facts: ClusterFacts): boolean {
  if (isSameObject(reading, facts)) return true;
  const server = objectOf(reading)?.directServer ?? null;
  return server !== null && server === facts.object?.directServer && nameOf(reading) === facts.name;
}

/**
 * The network of the cluster's machines; null if unknown. Facts of a previous object with the same name do not count. With
 * them, the addresses of the new machines would be dialled in the network of another tenant.
 */
export function machineNetworkOf(reading: ClusterReading, known: ClusterFacts | undefined): string | null {
  const own = common(reading).clusterNetworkId;
  const kept = known !== undefined && isSameObject(reading, known) ? known.clusterNetworkId : undefined;
  return own ?? kept ?? null;
}

const common = (reading: ClusterReading) => (reading.kind === 'proxied' ? reading.facts : reading);
