// Makes expensive pages one at a time, with a rest in between for the other work of the main thread. Requests that wait for the same
// page share it: many requests cost no more than one.
import type { AdminPage } from './admin-server.ts';

/** The most different pages that wait at once. `/explain` has its own page for each name in a request. */
const MAX_WAITING = 64;

/** The rest is four times as long as the page took, at most 250 ms. So only pages over 62 ms use more than a fifth of the time. */
const REST_FACTOR = 4;
const MAX_REST_MS = 250;

export class PageTurns {
  readonly #waiting = new Map<string, Promise<AdminPage>>();
  #last: Promise<unknown> = Promise.resolve();
  #restUntilMs = 0;

  /** A request never shares a page that is already being made: that page may be older than an event that the client has seen. */
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
      return { ...page, body: Buffer.from(page.body) }; // the same bytes for all requests that share the page
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

const BUSY: AdminPage = {
  status: 503,
  type: 'text',
  body: 'too many different pages are requested at once\n',
};
