// Finds the cluster that somebody means: by its name, a server name of it, or the name of its object. Pure.
import { nearestFew } from '../../cli/config/nearest.ts';
import type { ClusterView } from './status.ts';

export type Lookup =
  | { readonly kind: 'found'; readonly cluster: ClusterView; readonly others: readonly ClusterView[] }
  | { readonly kind: 'unknown'; readonly nearest: readonly string[] };

const SUGGESTIONS = 3;

export function clusterLookup(clusters: readonly ClusterView[], asked: string): Lookup {
  const wanted = asked.trim().toLowerCase().replace(/\.$/, '');
  const matches = [
    clusters.filter(({ name }) => name === asked),
    clusters.filter(({ name, serverNames }) => name.toLowerCase() === wanted || serverNames.includes(wanted)),
    // `OpenStackCluster <namespace>/<name>`, or a file.
    clusters.filter(({ origin }) => origin === asked || origin.endsWith(`/${asked}`)),
  ].find((found) => found.length > 0);
  if (matches === undefined) {
    const names = [...new Set(clusters.map(({ name }) => name).filter((name) => name !== ''))];
    return { kind: 'unknown', nearest: nearestFew(wanted.split('.', 1)[0] as string, names, SUGGESTIONS) };
  }
  // Of several objects with one name the one that has the right to it is meant.
  const cluster = matches.find(({ serverNames }) => serverNames.length > 0) ?? (matches[0] as ClusterView);
  return { kind: 'found', cluster, others: matches.filter((each) => each !== cluster) };
}
