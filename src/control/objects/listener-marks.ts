// The marks that tell an object of an additional listener from one of the cluster itself. Read off the object alone; a mark proves
// nothing without the owner tag and the name that goes with it. Pure.
import type { V1ObjectMeta } from '@kubernetes/client-node';
import {
  LISTENER_ANNOTATION,
  LISTENER_SELECTOR_ANNOTATION,
  LISTENER_SERVICE_LABEL,
} from './object-labels.ts';
import type { Wire } from './wire-object.ts';

export interface ListenerMarks {
  /** `<namespace>/<name>` of the AdditionalListener. */
  readonly listener: string;
  readonly service: string;
}

/** null for what belongs to a cluster itself, or has half of the marks. */
export function listenerMarks(meta: Wire<V1ObjectMeta> | undefined): ListenerMarks | null {
  const service = meta?.labels?.[LISTENER_SERVICE_LABEL];
  const listener = meta?.annotations?.[LISTENER_ANNOTATION];
  return typeof service === 'string' && typeof listener === 'string' ? { listener, service } : null;
}

export const marksOf = ({ listener, service }: ListenerMarks) => ({
  labels: { [LISTENER_SERVICE_LABEL]: service },
  annotations: { [LISTENER_ANNOTATION]: listener },
});

/** How a digest is made: one that was made in another way cannot be compared, and proves no edit. */
const DIGEST_VERSION = '1';

/** Of one object and its selector. A listener that was deleted and made anew may ask for something else. */
export const selectorMark = (uid: string | null, digest: string): string =>
  `${uid ?? 'no-uid'}:${DIGEST_VERSION}:${digest}`;

/** The digest that a Service was made with, if it was for this very object; null: it does not say. */
export function markedSelector(meta: Wire<V1ObjectMeta> | undefined, uid: string | null): string | null {
  const mark = meta?.annotations?.[LISTENER_SELECTOR_ANNOTATION];
  if (typeof mark !== 'string') return null;
  const prefix = selectorMark(uid, '');
  return mark.startsWith(prefix) ? mark.slice(prefix.length) : null;
}

/** What is published is kept apart by this: a cluster can have the name of a listener's Service. */
export const listenerPublicationKey = (cluster: string, service: string): string => `${cluster}/${service}`;
