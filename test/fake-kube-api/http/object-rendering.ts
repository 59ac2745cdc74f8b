// Renders objects as JSON, in the version and form that a client requests. Each result is cached with its version of the object.

import type { Entry } from '../store/object-store.ts';
import { apiVersionOf } from '../stored-object.ts';
import type { ApiOfType } from '../types/resource-type.ts';

/** `metadata` is PartialObjectMetadata: sufficient to watch for changes, and without the content of Secrets. */
export type Form = 'object' | 'metadata';

/** In lists, built-in objects omit `kind` and `apiVersion`. Custom objects include them. */
export function renderedItem(entry: Entry, target: ApiOfType, form: Form): string {
  return form === 'object' && !target.type.custom ? content(entry, target) : rendered(entry, target, form);
}

export function rendered(entry: Entry, target: ApiOfType, form: Form): string {
  if (form === 'object')
    return `{"kind":"${target.type.kind}","apiVersion":"${apiVersionOf(target.api)}",${content(entry, target).slice(1)}`;
  return kept(entry, 'metadata', () => ({
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: entry.object.metadata,
  }));
}

function content(entry: Entry, { type, api }: ApiOfType): string {
  return kept(entry, apiVersionOf(api), () => {
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = type.convert(entry.object, api);
    return rest;
  });
}

function kept(entry: Entry, key: string, make: () => object): string {
  let json = entry.rendered.get(key);
  if (json === undefined) {
    json = JSON.stringify(make());
    entry.rendered.set(key, json);
  }
  return json;
}

/** The form that an Accept header requests. null: the client does not accept JSON. */
export function formOf(accept: string | undefined): Form | 'table' | null {
  if (accept === undefined || accept === '') return 'object';
  for (const range of accept.split(',')) {
    const [media = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*'].includes(media)) continue;
    const as = parameters.find((each) => each.startsWith('as='))?.slice(3);
    if (as === undefined) return 'object';
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'metadata';
    if (as === 'Table') return 'table';
  }
  return /application\/(json|\*)|\*\/\*/.test(accept) ? 'object' : null;
}
