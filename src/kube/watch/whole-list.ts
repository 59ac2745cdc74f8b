// Reads a whole collection into a mirror, page by page, as of one moment. Each page is let go before the next is asked for, so
// that a long list costs no more memory than what is kept of it; and nothing changes before the last page is there.
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
  /** Objects. */
  readonly pageSize: number;
  readonly signal: AbortSignal;
}

/** What is known, and up to where. */
export interface Position {
  readonly path: string;
  readonly version: string;
}

interface Page {
  readonly items: readonly unknown[];
  /** Of the moment that all pages show. */
  readonly version: string;
}

/** As long as an API server works on a request at most. */
const PAGE_TIMEOUT_MS = 60_000;
const MAX_PAGE_BYTES = 64 * 1024 * 1024;
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;
/** Half a million objects: a server that goes on after that goes round in a circle. */
const MAX_PAGES = 1000;
const MAX_ATTEMPTS = 3;

export async function takeList<T>(
  question: ListQuestion,
  mirror: Mirror<T>,
  known: Position | null,
  onAttempt: () => void,
): Promise<{ readonly position: Position; readonly changed: boolean }> {
  for (let attempt = 1; ; attempt++) {
    onAttempt();
    try {
      // A list may take longer than the server remembers its moment; at last it is asked for in one piece.
      const limit = attempt < MAX_ATTEMPTS ? question.pageSize : null;
      return await listOnce(question, limit, mirror, known);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !(error instanceof KubeError && error.code === 'gone')) throw error;
    }
  }
}

/** Where the server is now, for the price of one object. */
export async function currentVersion(question: Omit<ListQuestion, 'pageSize'>): Promise<string> {
  for await (const { version } of pages({ ...question, pageSize: 1 }, 1)) return version;
  throw new Error('there is always a first page');
}

/** Smaller pages may do. */
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
    // Another version of the API, or a server that was taken back to a backup: the same number need not mean the same object.
    list ??= mirror.beginList(known?.path === path && !isOlderVersion(version, known.version));
    for (const item of page.items) {
      if (isKubeObject(item)) list.add(item);
      else list.reject(`#${++unnamed}`, 'the list holds something without a name');
    }
  }
  return { position: { path, version }, changed: list?.commit() ?? false };
}

/** Asked without a resource version, the server reads what is true now. */
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
    if (!isRecord(answer) || !Array.isArray(items)) throw bad('the answer is no list');
    if (version === null) throw bad('the list has no resourceVersion');
    yield { items, version };
    const token = isRecord(answer.metadata) ? answer.metadata.continue : undefined;
    if (typeof token !== 'string' || token === '') return;
    if (token === next) throw bad('the list goes round in a circle');
    next = token;
  }
  throw bad(`the list has more than ${MAX_PAGES} pages`);
}
