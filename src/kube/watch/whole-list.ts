// Reads a whole collection into a mirror, page by page, as of one resource version. Each page is freed before the next request, so
// a long list needs little memory beyond its projections. The mirror changes only after the last page.
import { TOO_LARGE } from '../http/http-answer.ts';
import type { KubeClient, KubeQuery } from '../kube-client.ts';
import { KubeError } from '../kube-error.ts';
import { isKubeObject, isOlderVersion, isRecord, resourceVersionOf } from '../kube-object.ts';
import type { Mirror, MirrorList } from './mirror.ts';

export interface ListQuestion {
  readonly client: KubeClient;
  readonly path: string;
  readonly query: KubeQuery;
  readonly accept: string;
  /** Number of objects. */
  readonly pageSize: number;
  readonly signal: AbortSignal;
}

/** The path of the mirrored collection, and the resource version that the mirror has reached. */
export interface Position {
  readonly path: string;
  readonly version: string;
}

interface Page {
  readonly items: readonly unknown[];
  /** The resource version of the whole list; the same for all pages. */
  readonly version: string;
}

/** The API server's own limit for one request. */
const PAGE_TIMEOUT_MS = 60_000;
const MAX_PAGE_BYTES = 64 * 1024 * 1024;
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;
/** Half a million objects. A longer list means that the server repeats itself. */
const MAX_PAGES = 1000;
const MAX_ATTEMPTS = 3;

export async function takeList<T>(
  question: ListQuestion,
  mirror: Mirror<T>,
  known: Position | null,
): Promise<{ readonly position: Position; readonly changed: boolean }> {
  for (let attempt = 1; ; attempt++) {
    try {
      // A paged list can take longer than the server keeps its version. The last attempt requests the list in one piece.
      const limit = attempt < MAX_ATTEMPTS ? question.pageSize : null;
      return await listOnce(question, limit, mirror, known);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !(error instanceof KubeError && error.code === 'gone')) throw error;
    }
  }
}

/** The server's current resource version, at the cost of reading one object. */
export async function currentVersion(question: Omit<ListQuestion, 'pageSize'>): Promise<string> {
  for await (const { version } of pages({ ...question, pageSize: 1 }, 1)) return version;
  throw new Error('the list has no first page');
}

/** Whether the answer exceeded the size limit. A smaller page can succeed. */
export const wasTooLarge = (error: unknown): boolean =>
  error instanceof KubeError && error.reason === TOO_LARGE;

async function listOnce<T>(
  question: ListQuestion,
  limit: number | null,
  mirror: Mirror<T>,
  known: Position | null,
) {
  const { path } = question;
  let list: MirrorList | null = null;
  let version = '';
  let unnamed = 0;
  for await (const page of pages(question, limit)) {
    version = page.version;
    // With another API version, or after a restore from a backup, the same resource version can mean another object.
    list ??= mirror.beginList(known?.path === path && !isOlderVersion(version, known.version));
    for (const item of page.items) {
      if (isKubeObject(item)) list.add(item);
      else list.reject(`#${++unnamed}`, 'the list contains an object without a name');
    }
  }
  return { position: { path, version }, changed: list?.commit() ?? false };
}

/** Without a resource version in the request, the server returns the most recent state. */
async function* pages(question: ListQuestion, limit: number | null): AsyncGenerator<Page, void, void> {
  const { client, path, query, accept, signal } = question;
  const bad = (detail: string) =>
    new KubeError({ code: 'bad-answer', verb: 'list', path, status: 200, detail });
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await client.request({
      method: 'GET',
      path,
      query: { ...query, limit: limit ?? undefined, continue: next },
      accept,
      timeoutMs: PAGE_TIMEOUT_MS,
      maxBytes: limit === null ? MAX_WHOLE_BYTES : MAX_PAGE_BYTES,
      signal,
    });
    const items = isRecord(answer) ? (answer.items ?? []) : null; // Go writes null for an empty list
    const version = resourceVersionOf(answer);
    if (!isRecord(answer) || !Array.isArray(items)) throw bad('the answer is not a list');
    if (version === null) throw bad('the list has no resourceVersion');
    yield { items, version };
    const token = isRecord(answer.metadata) ? answer.metadata.continue : undefined;
    if (typeof token !== 'string' || token === '') return;
    if (token === next) throw bad('the list returned the same continue token twice');
    next = token;
  }
  throw bad(`the list has more than ${MAX_PAGES} pages`);
}
