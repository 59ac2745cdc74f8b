// Makes pages that cost something one at a time: between two of them the main thread does everything else. Requests that wait for the
// same page share it, so that many of them cost no more than one.
import type { AdminPage } from './admin-server.ts';

/** Different pages that wait: of all clusters, one each is asked for at most. */
const MAX_WAITING = 64;

/** However many ask, pages take a fifth of the main thread at most: new connections wait for it. */
const REST_FACTOR = 4;
const MAX_REST_MS = 250;

export class PageTurns {
  readonly #waiting = new Map<string, Promise<AdminPage>>();
  #last: Promise<unknown> = Promise.resolve();
  #restUntilMs = 0;

  /** A page that is already being made is not shared: it may not show what the client has just seen to happen. */
  page(name: string, make: () => AdminPage | Promise<AdminPage>): Promise<AdminPage> {
    const there = this.#waiting.get(name);
    if (there !== undefined) return there;
    if (this.#waiting.size >= MAX_WAITING) return Promise.resolve(BUSY);
    const made = this.#last.then(async () => {
      await this.#pause();
      this.#waiting.delete(name);
      const begunMs = performance.now();
      const page = await make();
      const endedMs = performance.now();
      this.#restUntilMs = endedMs + Math.min(MAX_REST_MS, (endedMs - begunMs) * REST_FACTOR);
      return { ...page, body: Buffer.from(page.body) }; // the same bytes for all that share it
    });
    this.#waiting.set(name, made);
    this.#last = made.catch(() => {});
    return made;
  }

  #pause(): Promise<unknown> {
    const restMs = this.#restUntilMs - performance.now();
    return new Promise((resolve) => (restMs > 0 ? setTimeout(resolve, restMs) : setImmediate(resolve)));
  }
}

const BUSY: AdminPage = { status: 503, type: 'text', body: 'too many pages are asked for at once\n' };
