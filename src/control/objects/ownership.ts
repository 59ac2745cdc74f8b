// Determines the owner of a Service or an EndpointSlice from the object alone, so the result survives a restore, a move or a restart.
// Before a write, each caller checks the ownership and then the name: a copied object has the same tag under another name. Pure.
import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import {
  CLUSTER_NAMESPACE_ANNOTATION,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NODE_LABEL,
  OWNER_TAG,
  PROXIED_CLUSTER_LABEL,
  PROXIED_SERVICE_LABEL,
  TIMESTAMP_ANNOTATION,
} from './object-labels.ts';
import { isClusterName } from './service-names.ts';
import { shownValue } from './shown-value.ts';
import type { Wire } from './wire-object.ts';

export type Ownership =
  /** `instance` is null on objects that instances share. */
  | { readonly kind: 'ours'; readonly cluster: string; readonly instance: string | null }
  /**
   * An object of the program that Isthmus replaces. Isthmus may adopt such a Service. It never changes such a slice,
   * but deletes one that has expired.
   */
  | { readonly kind: 'upstream' }
  | { readonly kind: 'foreign'; readonly reason: string };

type Texts = Readonly<Record<string, string>>;

/** The items of a list have no `kind`. A slice is recognised by `addressType`, a mandatory field. */
export function ownershipOf(object: Wire<V1Service> | Wire<V1EndpointSlice>): Ownership {
  const labels: Texts = object.metadata?.labels ?? {};
  const annotations: Texts = object.metadata?.annotations ?? {};
  const inLabel = own(labels, OWNER_TAG);
  const inAnnotation = own(annotations, OWNER_TAG);
  const cluster = inLabel ?? inAnnotation;
  if (cluster !== null && inAnnotation !== null && cluster !== inAnnotation) {
    return foreign(
      `its owner tag says ${shownValue(cluster)} as label and ${shownValue(inAnnotation)} as annotation`,
    );
  }
  if (cluster !== null && !isClusterName(cluster))
    return foreign(`its owner tag ${shownValue(cluster)} is not a valid cluster name`);
  return 'addressType' in object
    ? sliceOwnership(cluster, labels, annotations)
    : serviceOwnership(cluster, labels, (object as Wire<V1Service>).spec);
}

/**
 * The namespace of the Service's cluster, if it is outside `scope` (null means every namespace). Other instances serve that cluster; to
 * an instance with this scope it only looks deleted. Returns null if the cluster is in scope or the Service has no such annotation.
 */
export function foreignNamespace(service: Wire<V1Service>, scope: string | null): string | null {
  const namespace = own(service.metadata?.annotations ?? {}, CLUSTER_NAMESPACE_ANNOTATION);
  return scope === null || namespace === scope ? null : namespace;
}

function serviceOwnership(cluster: string | null, labels: Texts, spec: Wire<V1Service>['spec']): Ownership {
  // Old instances remove the label every 10 s but keep the annotation, so either one is enough.
  if (cluster !== null) return { kind: 'ours', cluster, instance: null };
  if (own(labels, PROXIED_SERVICE_LABEL) !== 'true')
    return foreign(`it has neither the tag ${OWNER_TAG} nor the label ${PROXIED_SERVICE_LABEL}: "true"`);
  if (Object.keys(spec?.selector ?? {}).length > 0)
    return foreign(
      `it has the label ${PROXIED_SERVICE_LABEL} but also a selector, and no Service of Isthmus has one`,
    );
  const type = spec?.type ?? 'ClusterIP';
  if (type !== 'ClusterIP')
    return foreign(`it has the label ${PROXIED_SERVICE_LABEL} but is of type ${shownValue(type)}`);
  return { kind: 'upstream' };
}

function sliceOwnership(cluster: string | null, labels: Texts, annotations: Texts): Ownership {
  const instance = own(labels, INSTANCE_LABEL);
  const managedBy = own(labels, MANAGED_BY_LABEL);
  if (instance !== null || cluster !== null || managedBy === MANAGED_BY) {
    // A slice of Isthmus has the tag and both labels. If one is missing, the slice is a copy or was edited.
    const missing = [
      ...(cluster === null ? [`the tag ${OWNER_TAG}`] : []),
      ...(instance === null || instance === '' ? [`the label ${INSTANCE_LABEL}`] : []),
      ...(managedBy !== MANAGED_BY ? [`the label ${MANAGED_BY_LABEL}: ${MANAGED_BY}`] : []),
    ];
    return missing.length === 0
      ? { kind: 'ours', cluster: cluster as string, instance }
      : foreign(`it looks like a slice of Isthmus, but lacks ${missing.join(' and ')}`);
  }
  if (own(labels, PROXIED_SERVICE_LABEL) === 'true') {
    const missing = [
      ...[NODE_LABEL, PROXIED_CLUSTER_LABEL].filter((label) => own(labels, label) === null),
      ...(own(annotations, TIMESTAMP_ANNOTATION) === null ? [TIMESTAMP_ANNOTATION] : []),
    ];
    return missing.length === 0
      ? { kind: 'upstream' }
      : foreign(`it has the label ${PROXIED_SERVICE_LABEL}, but lacks ${missing.join(' and ')}`);
  }
  return foreign(
    managedBy === null ? 'it has no label of Isthmus' : `it is managed by ${shownValue(managedBy)}`,
  );
}

const foreign = (reason: string): Ownership => ({ kind: 'foreign', reason });

/** Label keys are untrusted: `constructor` is a key like any other. */
const own = (texts: Texts, key: string): string | null =>
  Object.hasOwn(texts, key) && typeof texts[key] === 'string' ? texts[key] : null;
