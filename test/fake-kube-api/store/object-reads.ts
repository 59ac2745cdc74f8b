// Implements get and list: selectors, resource versions, and paged lists that stay consistent while objects change.
import {
  ApiError,
  badRequest,
  expired,
  forbiddenField,
  invalid,
  notFound,
  tooLargeResourceVersion,
} from '../api-error.ts';
import type { ApiOfType, ResourceType } from '../types/resource-type.ts';
import type { Entry, ObjectStore } from './object-store.ts';
import { EVERYTHING, fieldMatcher, labelMatcher, type Matcher, selectedName } from './selectors.ts';

export interface ListPage {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly continueToken: string;
  /** null with a selector, as on the real API server. */
  readonly remaining: number | null;
}

const LIST_OPTIONS = { group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' };

/** The number of the resourceVersion parameter. null when it is absent. */
export function askedRevision(query: URLSearchParams): number | null {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return null;
  if (!/^\d+$/.test(text))
    throw badRequest(`Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
  return Number(text);
}

/** A number in the query. 0 when it is absent. */
export function integerOption(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '0';
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}

/** The same for a watch: there the real API server returns the parser's error unchanged, as a 500. */
export function watchedRevision(query: URLSearchParams): number | null {
  try {
    return askedRevision(query);
  } catch (error) {
    throw new ApiError(500, '', `resourceVersion: ${(error as Error).message}`);
  }
}

export function matcherOf({ type, api }: ApiOfType, query: URLSearchParams): Matcher {
  const labels = labelMatcher(query.get('labelSelector'));
  const supported = api.group === type.group ? type.selectableFields : [];
  const fields = fieldMatcher(query.get('fieldSelector'), supported, type.kind);
  if (labels === EVERYTHING) return fields;
  return fields === EVERYTHING ? labels : (object) => labels(object) && fields(object);
}

interface Continue {
  readonly revision: number;
  readonly after: string;
}

const encoded = (value: Continue): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decoded(token: string): Continue {
  try {
    const value = JSON.parse(Buffer.from(token, 'base64url').toString()) as Continue;
    if (typeof value.revision === 'number' && typeof value.after === 'string') return value;
  } catch {} // not a token of this server: the error follows
  throw badRequest('continue key is not valid: illegal base64 data');
}

export class ObjectReads {
  readonly #store: ObjectStore;

  constructor({ store }: { readonly store: ObjectStore }) {
    this.#store = store;
  }

  get(
    {
      type,
      namespace,
      name,
    }: { readonly type: ResourceType; readonly namespace: string; readonly name: string },
    query: URLSearchParams,
  ): Entry {
    const revision = askedRevision(query) ?? 0;
    if (revision > this.#store.revision) throw tooLargeResourceVersion(revision, this.#store.revision);
    const entry = this.#store.get(type.key, namespace, name);
    if (entry === null) throw notFound(type, name);
    return entry;
  }

  list(target: ApiOfType, namespace: string | null, query: URLSearchParams): ListPage {
    const { type } = target;
    const revision = askedRevision(query);
    const match = query.get('resourceVersionMatch') ?? '';
    const token = query.get('continue') ?? '';
    if (match !== '' && revision === null)
      throw invalid(LIST_OPTIONS, '', [
        forbiddenField(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden unless resourceVersion is provided',
        ),
      ]);
    if (token !== '' && revision !== null && revision !== 0)
      throw badRequest('specifying resource version is not allowed when using continue');
    if (revision !== null && revision > this.#store.revision)
      throw tooLargeResourceVersion(revision, this.#store.revision);
    // resourceVersion 0 accepts any version. The real API server answers from its cache, which does not support pages.
    const limit = revision === 0 && token === '' ? 0 : integerOption(query, 'limit');
    const matches = matcherOf(target, query);
    if (token !== '') return this.#continued(type, namespace, decoded(token), limit, matches);

    const at = match === 'Exact' ? (revision as number) : this.#store.revision;
    const name = selectedName(query.get('fieldSelector'));
    if (name !== null && namespace !== null && match !== 'Exact') {
      const found = this.#store.get(type.key, namespace, name);
      const entries = found !== null && matches(found.object) ? [found] : [];
      return { entries, revision: at, continueToken: '', remaining: null };
    }
    const all = this.#entriesAt(type, namespace, at);
    if (all === null) throw expired('The resourceVersion for the provided list is too old.');
    return page(all, at, limit, matches);
  }

  #continued(
    type: ResourceType,
    namespace: string | null,
    { revision, after }: Continue,
    limit: number,
    matches: Matcher,
  ): ListPage {
    // A negative revision comes from an expired token: the client gets the rest of the current list.
    const at = revision < 0 ? this.#store.revision : revision;
    const all = this.#entriesAt(type, namespace, at);
    if (all === null) throw expiredContinue(encoded({ revision: -1, after }));
    const start = all.findIndex(({ namespace: each, name }) => `${each}/${name}` > after);
    return page(start < 0 ? [] : all.slice(start), at, limit, matches);
  }

  /** The objects at that revision. null when the history does not reach back that far. */
  #entriesAt(type: ResourceType, namespace: string | null, revision: number): readonly Entry[] | null {
    const changes = this.#store.changesSince(type.key, revision);
    if (changes === null) return null;
    const now = this.#store.list(type.key, namespace);
    if (changes.length === 0) return now;
    const keyOf = (entry: Entry): string => `${entry.namespace}/${entry.name}`;
    const then = new Map(now.map((entry) => [keyOf(entry), entry]));
    for (const { entry, previous } of changes.toReversed()) {
      if (namespace !== null && entry.namespace !== namespace) continue;
      if (previous === null) then.delete(keyOf(entry));
      else then.set(keyOf(entry), previous);
    }
    return [...then].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, entry]) => entry);
  }
}

function page(all: readonly Entry[], revision: number, limit: number, matches: Matcher): ListPage {
  if (limit <= 0 || (matches === EVERYTHING && all.length <= limit)) {
    const entries = matches === EVERYTHING ? all : all.filter(({ object }) => matches(object));
    return { entries, revision, continueToken: '', remaining: null };
  }
  const entries: Entry[] = [];
  for (const [index, entry] of all.entries()) {
    if (!matches(entry.object)) continue;
    if (entries.length === limit) {
      const last = entries.at(-1) as Entry;
      return {
        entries,
        revision,
        continueToken: encoded({ revision, after: `${last.namespace}/${last.name}` }),
        remaining: matches === EVERYTHING ? all.length - index : null,
      };
    }
    entries.push(entry);
  }
  return { entries, revision, continueToken: '', remaining: null };
}

function expiredContinue(token: string): ApiError {
  const error = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
      'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
      'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
      'deleted between the time the first chunk was returned and now may show up in the list.',
  );
  error.status.metadata.continue = token;
  return error;
}
