// Whether this process can replace the process that holds the Lease of its node: no client of a published slice would lose its cluster.
// Pure.
import type { DesiredState } from '../desired/desired-state.ts';
import { publicationKey } from '../desired/publication.ts';
import type { KubeWorld } from '../world/kube-world.ts';

export function servesAll(
  { slices, self }: Pick<KubeWorld, 'slices' | 'self'>,
  { complete, publications }: Pick<DesiredState, 'complete' | 'publications'>,
): boolean {
  if (!complete || 'reason' in self.endpoint) return false;
  const wants = new Map(publications.map((each) => [publicationKey(each), each.want]));
  for (const [key, owned] of slices.ours) {
    const isPublished = owned.some(({ instance, ready }) => instance === self.instance && ready);
    const want = wants.get(key);
    // A cluster that this process does not know at all is no proof that it was deleted: the namespace of clusters may be wrong. The
    // holder withdraws the slice of a deleted cluster itself within seconds.
    if (isPublished && want !== 'live' && want !== 'leaving') return false;
  }
  return true;
}
