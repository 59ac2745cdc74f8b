// The tags that an object of a cluster should carry, and the problems that prevent them. Pure.
import type { V1ObjectMeta } from '@kubernetes/client-node';
import type { Publication } from '../desired/publication.ts';
import { contestedTags } from '../objects/metadata-patch.ts';
import { TAGS_ANNOTATION } from '../objects/object-labels.ts';
import { appliedTags, type Tags } from '../objects/resource-tags.ts';
import type { Wire } from '../objects/wire-object.ts';

type Meta = Wire<V1ObjectMeta>;

/** Cluster tags override instance tags. While the cluster tags are invalid, existing tags stay, so a typing error removes no tag. */
export function tagsOf({ object }: Publication, found: Meta | undefined, instance: Tags): Tags {
  const own = object?.tags;
  if (own === undefined) return instance;
  return own.kind === 'tags' ? { ...instance, ...own.tags } : { ...appliedTags(found), ...instance };
}

/** Why the tags of a cluster are not used; null when they are used. */
export function unreadTagsProblem({ object }: Publication): string | null {
  const own = object?.tags;
  if (own === undefined || own.kind === 'tags') return null;
  return `the annotation ${TAGS_ANNOTATION} is invalid, so tags stay as they are: ${own.problems.join('; ')}`;
}

/** Why some of our tags are not applied: another writer set their keys to other values. null if there is no such key. */
export function foreignTagProblem(
  what: string,
  found: Meta | undefined,
  wanted: Meta | undefined,
): string | null {
  const differing = contestedTags(found, wanted).filter((key) =>
    [found?.labels, found?.annotations].some(
      (texts) => Object.hasOwn(texts ?? {}, key) && texts?.[key] !== wanted?.annotations?.[key],
    ),
  );
  if (differing.length === 0) return null;
  return `${what} has ${differing.join(', ')} from another writer: our tags with these keys are not applied`;
}
