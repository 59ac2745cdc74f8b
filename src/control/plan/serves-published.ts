// Whether this process can replace the process that publishes as this instance, without clients losing their clusters. `servesAll` is the
// rule for taking the Lease from a live process. `servesNone` is weaker, for a predecessor that hands over on purpose. Pure.
import type { DesiredState } from '../desired/desired-state.ts';
import { publicationKey } from '../desired/publication.ts';
import type { KubeWorld } from '../world/kube-world.ts';

type Kube = Pick<KubeWorld, 'slices' | 'self'>;
type Decided = Pick<DesiredState, 'complete' | 'publications'>;

/** No client of a published slice of this instance would lose its cluster. */
export function servesAll(kube: Kube, desired: Decided): boolean {
  if (!desired.complete || 'reason' in kube.self.endpoint) return false;
  const serves = servedKeys(desired);
  // A cluster that this process does not know need not be deleted: the namespace of clusters may be wrong. The
  // holder withdraws the slice of a deleted cluster itself within seconds.
  return published(kube).every(({ key }) => serves.has(key));
}

/**
 * Why this process must not replace its predecessor; null: it may. A wrong setting such as `--netns-dir` loses all clusters at once,
 * but a single cluster may just have failed. Additional listeners do not count: their ports open only after the handover.
 */
export function servesNone(kube: Kube, desired: Decided): string | null {
  // The selector of nodes may exclude this node on purpose.
  if (!kube.self.participation.takesPart) return null;
  const clusters = published(kube).filter(({ listener }) => listener === null);
  const [first] = clusters;
  if (first === undefined) return null;
  const { endpoint } = kube.self;
  if ('reason' in endpoint) return endpoint.reason;
  const serves = servedKeys(desired);
  if (clusters.some(({ key }) => serves.has(key))) return null;
  const named = clusters.length === 1 ? first.cluster : `${first.cluster} and ${clusters.length - 1} more`;
  return (
    `this instance publishes ${named}, and this process reaches none of them: ` +
    'check --netns-dir, --netns-prefixes and --cluster-namespace, or start it with --take-over'
  );
}

const published = ({ slices, self }: Kube) =>
  [...slices.ours.values()].flat().filter(({ instance, ready }) => instance === self.instance && ready);

const servedKeys = ({ publications }: Decided): ReadonlySet<string> =>
  new Set(publications.filter(({ want }) => want === 'live' || want === 'leaving').map(publicationKey));
