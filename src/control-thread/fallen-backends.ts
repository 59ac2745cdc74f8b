// Finds the backends that became unhealthy between two desired states; the engine aborts pending dials to them. A backend that left
// the routes for another reason (a relabelled member, a deleted cluster) is excluded: its dials may still succeed. Pure.
import type { Desired } from '../control/desired/desired-state.ts';

type Watched = Pick<Desired, 'clusters' | 'listeners'>;

/** Returns backend keys. Skips unchanged parts: an unchanged value is the same object in both states. */
export function fallenBackends(before: Watched, after: Watched): readonly string[] {
  if (before.clusters === after.clusters && before.listeners === after.listeners) return [];
  const wereUp = upKeys(before, new Set<object>([...after.clusters, ...after.listeners]));
  if (wereUp.size === 0) return [];
  const down: string[] = [];
  for (const { key, up } of [
    ...after.clusters.flatMap(({ backends }) => backends),
    ...after.listeners.flatMap(({ members }) => members),
  ])
    if (!up && key !== null && wereUp.delete(key)) down.push(key);
  return down;
}

function upKeys({ clusters, listeners }: Watched, unchanged: ReadonlySet<object>): Set<string> {
  const keys = new Set<string>();
  for (const cluster of clusters)
    if (!unchanged.has(cluster)) for (const { key, up } of cluster.backends) if (up) keys.add(key);
  for (const listener of listeners)
    if (!unchanged.has(listener))
      for (const { key, up } of listener.members) if (up && key !== null) keys.add(key);
  return keys;
}
