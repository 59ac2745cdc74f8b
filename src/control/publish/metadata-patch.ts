// The part of a merge patch that brings our labels, annotations and owner back. Keys of others stay; keys that could only be
// ours and are wanted no more (`null` in a merge patch) go. Pure.
import type { V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node';
import {
  NODE_LABEL,
  OWNER_TAG,
  PROXIED_CLUSTER_LABEL,
  PROXIED_SERVICE_LABEL,
  TIMESTAMP_ANNOTATION,
} from '../object-labels.ts';
import type { Wire } from '../wire-object.ts';

type Meta = Wire<V1ObjectMeta>;
type Texts = Readonly<Record<string, string>>;

/** Ours to take away when a mode of liveness no longer wants them. */
const OURS = [OWNER_TAG, NODE_LABEL, PROXIED_CLUSTER_LABEL, PROXIED_SERVICE_LABEL, TIMESTAMP_ANNOTATION];

export function metadataPatch(found: Meta | undefined, wanted: Meta | undefined): object | null {
  const labels = changed(found?.labels ?? {}, wanted?.labels ?? {});
  const annotations = changed(found?.annotations ?? {}, wanted?.annotations ?? {});
  const ownerReferences = changedOwners(found?.ownerReferences ?? [], wanted?.ownerReferences ?? []);
  if (labels === null && annotations === null && ownerReferences === null) return null;
  return {
    ...(labels === null ? {} : { labels }),
    ...(annotations === null ? {} : { annotations }),
    ...(ownerReferences === null ? {} : { ownerReferences }),
  };
}

function changed(found: Texts, wanted: Texts): Record<string, string | null> | null {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (found[key] !== value) patch[key] = value;
  for (const key of OURS) if (Object.hasOwn(found, key) && !Object.hasOwn(wanted, key)) patch[key] = null;
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
