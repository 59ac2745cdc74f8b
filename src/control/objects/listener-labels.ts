// The label and the annotations that distinguish an object of an additional listener from an object of the cluster itself. They prove
// nothing without the owner tag and the matching name. Pure.
import type { V1ObjectMeta } from '@kubernetes/client-node';
import {
  LISTENER_ANNOTATION,
  LISTENER_SELECTOR_ANNOTATION,
  LISTENER_SERVICE_LABEL,
} from './object-labels.ts';
import type { Wire } from './wire-object.ts';

export interface ListenerLabels {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly listener: string;
  readonly service: string;
}

/** null for an object of the cluster itself, and for an object with only the label or only the annotation. */
export function listenerLabels(meta: Wire<V1ObjectMeta> | undefined): ListenerLabels | null {
  const service = meta?.labels?.[LISTENER_SERVICE_LABEL];
  const listener = meta?.annotations?.[LISTENER_ANNOTATION];
  return typeof service === 'string' && typeof listener === 'string' ? { listener, service } : null;
}

export const listenerMetadata = ({ listener, service }: ListenerLabels) => ({
  labels: { [LISTENER_SERVICE_LABEL]: service },
  annotations: { [LISTENER_ANNOTATION]: listener },
});

/** Version of the digest algorithm. Digests of different versions are not comparable and prove no edit. */
const DIGEST_VERSION = '1';

/**
 * The value of LISTENER_SELECTOR_ANNOTATION. It contains the uid, because a listener that was deleted and created
 * again may have another selector.
 */
export const selectorAnnotation = (uid: string | null, digest: string): string =>
  `${uid ?? 'no-uid'}:${DIGEST_VERSION}:${digest}`;

/** The selector digest that a Service was created with; null if the Service was created for another object or has no such annotation. */
export function recordedSelector(meta: Wire<V1ObjectMeta> | undefined, uid: string | null): string | null {
  const value = meta?.annotations?.[LISTENER_SELECTOR_ANNOTATION];
  if (typeof value !== 'string') return null;
  const prefix = selectorAnnotation(uid, '');
  return value.startsWith(prefix) ? value.slice(prefix.length) : null;
}

/** The key of a listener's publication. It differs from the key of a cluster, which can have the same name as the Service. */
export const listenerPublicationKey = (cluster: string, service: string): string => `${cluster}/${service}`;
