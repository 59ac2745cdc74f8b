// What every reading has, whatever its kind.
import type { ClusterObject, ClusterReading } from './cluster-source.ts';

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

/** null while it is not known. */
export const clusterNetworkOf = (reading: ClusterReading): string | null =>
  common(reading).clusterNetworkId ?? null;

const common = (reading: ClusterReading) => (reading.kind === 'proxied' ? reading.facts : reading);
