// Builds the part of a merge patch that restores the labels, annotations, tags and owner that Isthmus sets. Foreign keys stay. A key of
// Isthmus, or a tag that it set, is removed (`null` in a merge patch) when it is no longer wanted. Pure.
import type { V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node';
import {
  APPLIED_TAGS,
  NODE_LABEL,
  OWNER_TAG,
  PROXIED_CLUSTER_LABEL,
  PROXIED_SERVICE_LABEL,
  TIMESTAMP_ANNOTATION,
} from './object-labels.ts';
import { appliedKeys } from './resource-tags.ts';
import type { Wire } from './wire-object.ts';

type Meta = Wire<V1ObjectMeta>;
type Texts = Readonly<Record<string, string>>;

/** Keys that Isthmus removes when they are no longer wanted: after a change of the liveness mode, or when the last tag is gone. */
const OURS = [
  OWNER_TAG,
  NODE_LABEL,
  PROXIED_CLUSTER_LABEL,
  PROXIED_SERVICE_LABEL,
  TIMESTAMP_ANNOTATION,
  APPLIED_TAGS,
];

export function metadataPatch(found: Meta | undefined, all: Meta | undefined): object | null {
  const wanted = withoutTags(all, contestedTags(found, all));
  const applied = appliedKeys(found);
  const ours = applied.size === 0 ? OURS : [...OURS, ...applied];
  const labels = changed(found?.labels ?? {}, wanted?.labels ?? {}, ours);
  const annotations = changed(found?.annotations ?? {}, wanted?.annotations ?? {}, ours);
  const ownerReferences = changedOwners(found?.ownerReferences ?? [], wanted?.ownerReferences ?? []);
  if (labels === null && annotations === null && ownerReferences === null) return null;
  return {
    ...(labels === null ? {} : { labels }),
    ...(annotations === null ? {} : { annotations }),
    ...(ownerReferences === null ? {} : { ownerReferences }),
  };
}

/** Wanted tags whose keys another writer already set. Isthmus leaves those keys unchanged. */
export function contestedTags(found: Meta | undefined, wanted: Meta | undefined): readonly string[] {
  const keys = appliedKeys(wanted);
  if (found === undefined || keys.size === 0) return [];
  const applied = appliedKeys(found);
  return [...keys].filter(
    (key) => !applied.has(key) && (has(found.labels, key) || has(found.annotations, key)),
  );
}

function withoutTags(wanted: Meta | undefined, keys: readonly string[]): Meta | undefined {
  if (wanted === undefined || keys.length === 0) return wanted;
  const left = (texts: Texts = {}) =>
    Object.fromEntries(Object.entries(texts).filter(([key]) => !keys.includes(key)));
  const annotations = left(wanted.annotations);
  const applied = [...appliedKeys(wanted)].filter((key) => !keys.includes(key));
  if (applied.length === 0) delete annotations[APPLIED_TAGS];
  else annotations[APPLIED_TAGS] = applied.join(',');
  return { ...wanted, labels: left(wanted.labels), annotations };
}

const has = (texts: Texts | undefined, key: string): boolean =>
  texts !== undefined && Object.hasOwn(texts, key);

function changed(found: Texts, wanted: Texts, ours: readonly string[]): Record<string, string | null> | null {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (found[key] !== value) patch[key] = value;
  for (const key of ours) if (Object.hasOwn(found, key) && !Object.hasOwn(wanted, key)) patch[key] = null;
  return Object.keys(patch).length === 0 ? null : patch;
}

/**
 * A merge patch replaces a list as a whole, so the patch keeps foreign owners. A restored OpenStackCluster has a new uid: if the owner
 * reference kept the old uid, the garbage collector would delete the object.
 */
function changedOwners(found: readonly V1OwnerReference[], wanted: readonly V1OwnerReference[]) {
  const isOurKind = ({ kind }: V1OwnerReference) => wanted.some((owner) => owner.kind === kind);
  const missing = wanted.filter(({ uid }) => !found.some((owner) => owner.uid === uid));
  const stale = found.filter((owner) => isOurKind(owner) && !wanted.some(({ uid }) => uid === owner.uid));
  if (missing.length === 0 && stale.length === 0) return null;
  return [...found.filter((owner) => !isOurKind(owner)), ...wanted];
}
