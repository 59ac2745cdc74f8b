// Tags that users set on the objects in Kubernetes: their syntax (`key=value,…`), the reserved keys, and the tags that Isthmus has
// applied. The object itself records the applied tags, so the record survives a restart, a restore and a move. Pure.
import { labelKeyProblem, labelValueProblem } from '../../kube/labels/label-syntax.ts';
import { APPLIED_TAGS } from './object-labels.ts';
import { shownValue } from './shown-value.ts';
import { byText } from './text-order.ts';

export type Tags = Readonly<Record<string, string>>;

export type ReadTags =
  | { readonly kind: 'tags'; readonly tags: Tags }
  /** Never empty. One invalid tag makes Isthmus ignore all of them. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

const NO_TAGS: ReadTags = Object.freeze({ kind: 'tags', tags: Object.freeze({}) });

/** Each tag becomes a label and an annotation on every object. */
const MAX_TAGS = 32;

/** Labels of these domains control how controllers, kube-proxy, old instances and Isthmus treat an object. */
const RESERVED = ['isthmus.dev', 'kubernetes.io', 'k8s.io', 'magnum-cluster-api.vexxhost.com'];
/** A Kubernetes domain that is meant for users, for example `app.kubernetes.io/part-of`. */
const FREE = 'app.kubernetes.io';

export function readTags(text: string): ReadTags {
  if (text.trim() === '') return NO_TAGS;
  const problems: string[] = [];
  const tags = new Map<string, string>();
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > MAX_TAGS)
    return {
      kind: 'invalid',
      problems: [`there are ${parts.length} tags, and the limit is ${MAX_TAGS}`],
    };
  for (const part of parts) {
    const equals = part.indexOf('=');
    if (equals === -1) {
      problems.push(`${shownValue(part)} is not a tag. Use key=value`);
      continue;
    }
    const [key, value] = [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    const wrongKey = labelKeyProblem(key) ?? reservedProblem(key);
    const wrongValue = labelValueProblem(value);
    if (wrongKey !== null) problems.push(`the key ${shownValue(key)} cannot be used: ${wrongKey}`);
    if (wrongValue !== null)
      problems.push(`the value ${shownValue(value)} of ${shownValue(key)} cannot be used: ${wrongValue}`);
    if (tags.has(key)) problems.push(`the key ${shownValue(key)} is given twice`);
    tags.set(key, value);
  }
  if (problems.length > 0) return { kind: 'invalid', problems };
  const sorted = [...tags].sort(([a], [b]) => byText(a, b));
  return { kind: 'tags', tags: Object.freeze(Object.fromEntries(sorted)) };
}

function reservedProblem(key: string): string | null {
  const domain = isReserved(key);
  return domain === null ? null : `keys of ${domain} are reserved`;
}

/** The domain that reserves the key; null if none does. */
function isReserved(key: string): string | null {
  const slash = key.indexOf('/');
  const prefix = slash === -1 ? '' : key.slice(0, slash);
  if (prefix === FREE) return null;
  return RESERVED.find((domain) => prefix === domain || prefix.endsWith(`.${domain}`)) ?? null;
}

/** The annotation that lists the applied tags; empty if there are no tags. */
export function appliedAnnotation(tags: Tags): Readonly<Record<string, string>> {
  const keys = Object.keys(tags);
  return keys.length === 0 ? {} : { [APPLIED_TAGS]: keys.sort(byText).join(',') };
}

interface Meta {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const NONE: ReadonlySet<string> = new Set();

/** Keys of the tags that Isthmus applied to the object. Any user can edit the annotation, so invalid and reserved keys are dropped. */
export function appliedKeys(meta: Meta | undefined): ReadonlySet<string> {
  const text = meta?.annotations?.[APPLIED_TAGS];
  if (typeof text !== 'string') return NONE;
  return new Set(text.split(',').filter((key) => labelKeyProblem(key) === null && isReserved(key) === null));
}

/** The tags that Isthmus applied to the object, with their current values. */
export function appliedTags(meta: Meta | undefined): Tags {
  const tags: Record<string, string> = {};
  for (const key of appliedKeys(meta)) {
    const value = meta?.annotations?.[key];
    // A user may have changed the value into an invalid label value.
    if (typeof value === 'string' && labelValueProblem(value) === null) tags[key] = value;
  }
  return tags;
}
