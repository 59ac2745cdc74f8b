// Objects as JSON, in the version and form that a client asked for. Each is made once per version of the object and kept with it.

import { apiVersionOf } from '../kube-object.ts';
import type { Entry } from '../store/object-store.ts';
import type { ApiOfType } from '../types/resource-type.ts';

/** `metadata` is PartialObjectMetadata: everything that a watch for changes needs, and no secret in it. */
export type Form = 'object' | 'metadata';

/** Within a list of a built-in kind an object does not say again what it is; a custom one does. */
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

/** What an Accept header asks for; null when JSON would not do. */
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
