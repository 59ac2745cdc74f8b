// The part of a merge patch that brings our labels, annotations, tags and owner back. Keys of others stay; what could only be ours,
// or is a tag that we put there, and is wanted no more, goes (`null` in a merge patch). Pure.
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

/** Ours to take away when they are wanted no more: by a mode of liveness, or because the last tag is gone. */
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

/** Tags that should be there and whose keys are somebody else's already: they are left to them. */
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
 * A merge patch replaces a list whole: owners that others set are kept, and so is ours while its uid is right. An
 * OpenStackCluster that was restored has a new uid; the old one would have the garbage collector delete the object.
 */
function changedOwners(found: readonly V1OwnerReference[], wanted: readonly V1OwnerReference[]) {
  const isOurKind = ({ kind }: V1OwnerReference) => wanted.some((owner) => owner.kind === kind);
  const missing = wanted.filter(({ uid }) => !found.some((owner) => owner.uid === uid));
  const stale = found.filter((owner) => isOurKind(owner) && !wanted.some(({ uid }) => uid === owner.uid));
  if (missing.length === 0 && stale.length === 0) return null;
  return [...found.filter((owner) => !isOurKind(owner)), ...wanted];
}
