// Sends requests to a Kubernetes API exactly as written, without a client library that could hide errors of either side.
import { Agent, type RequestOptions, request } from 'node:https';
import { createInterface } from 'node:readline';
import { within } from '../support/tcp.ts';

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** The body as JSON; null if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any kind are looked into, and a wrong path fails the test
  readonly body: any;
}

export interface RawWatchEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly object: any;
}

export interface RequestSettings {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** A token that replaces the client's token; null for none. */
  readonly token?: string | null;
}

const PATIENCE_MS = 60_000;

export class RawClient {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #token: string;

  constructor({ url, ca, token }: { readonly url: string; readonly ca: Buffer; readonly token: string }) {
    this.#url = new URL(url);
    this.#token = token;
    this.#agent = new Agent({ keepAlive: true, ca });
  }

  get(path: string, settings: RequestSettings = {}): Promise<Answer> {
    return this.request('GET', path, settings);
  }

  post(path: string, body: unknown, settings: RequestSettings = {}): Promise<Answer> {
    return this.request('POST', path, { body, ...settings });
  }

  put(path: string, body: unknown, settings: RequestSettings = {}): Promise<Answer> {
    return this.request('PUT', path, { body, ...settings });
  }

  /** A merge patch, unless another type is given. */
  patch(path: string, body: unknown, contentType = 'application/merge-patch+json'): Promise<Answer> {
    return this.request('PATCH', path, { body, contentType });
  }

  apply(path: string, body: unknown, manager: string, force = false): Promise<Answer> {
    const query = `fieldManager=${manager}${force ? '&force=true' : ''}`;
    return this.patch(`${path}?${query}`, body, 'application/apply-patch+yaml');
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.request('DELETE', path, body === undefined ? {} : { body });
  }

  request(method: string, path: string, settings: RequestSettings = {}): Promise<Answer> {
    const { body } = settings;
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    return within(
      PATIENCE_MS,
      `${method} ${path}`,
      new Promise((resolve, reject) => {
        const sent = request(this.#options(method, path, settings), (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const answer = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: answer,
              body: jsonOrNull(answer),
            });
          });
        });
        sent.on('error', reject);
        sent.end(text);
      }),
    );
  }

  /** Resolves when the stream is open; throws an answer that is not an event stream. */
  watch(path: string, settings: RequestSettings = {}): Promise<Watch> {
    const separator = path.includes('?') ? '&' : '?';
    const url = `${path}${separator}watch=true`;
    return within(
      PATIENCE_MS,
      `watch of ${path}`,
      new Promise((resolve, reject) => {
        const sent = request({ ...this.#options('GET', url, settings), agent: this.#agent }, (response) => {
          if (response.statusCode !== 200) {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('end', () =>
              reject(new Error(`${response.statusCode}: ${Buffer.concat(chunks).toString()}`)),
            );
            return;
          }
          resolve(new Watch(response, () => sent.destroy()));
        });
        sent.on('error', reject);
        sent.end();
      }),
    );
  }

  close(): void {
    this.#agent.destroy();
  }

  #options(method: string, path: string, settings: RequestSettings): RequestOptions {
    const { contentType = 'application/json', accept = 'application/json', token = this.#token } = settings;
    return {
      agent: this.#agent,
      host: this.#url.hostname,
      port: this.#url.port,
      method,
      path,
      headers: {
        Accept: accept,
        'User-Agent': 'behaviour/1',
        ...(settings.body === undefined
          ? {}
          : { 'Content-Type': contentType, 'Transfer-Encoding': 'chunked' }),
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      },
    };
  }
}

/** An open watch; it returns events in order. */
export class Watch {
  readonly ended: Promise<void>;
  readonly #events: RawWatchEvent[] = [];
  readonly #waiting: ((event: RawWatchEvent) => void)[] = [];
  readonly #cut: () => void;

  constructor(response: NodeJS.ReadableStream, cut: () => void) {
    this.#cut = cut;
    this.ended = new Promise((resolve) => {
      response.on('close', resolve);
    });
    response.on('error', () => {}); // cut by this client or by a test: `ended` reports it
    const lines = createInterface({ input: response });
    lines.on('error', () => {});
    lines.on('line', (line) => {
      if (line === '') return;
      const event = JSON.parse(line) as RawWatchEvent;
      const next = this.#waiting.shift();
      if (next === undefined) this.#events.push(event);
      else next(event);
    });
  }

  next(): Promise<RawWatchEvent> {
    const there = this.#events.shift();
    if (there !== undefined) return Promise.resolve(there);
    return within(
      PATIENCE_MS,
      'the next event of a watch',
      new Promise((resolve) => {
        this.#waiting.push(resolve);
      }),
    );
  }

  /** Events up to and including the first match. */
  async until(fits: (event: RawWatchEvent) => boolean): Promise<RawWatchEvent[]> {
    const seen: RawWatchEvent[] = [];
    for (let count = 0; count < 10_000; count += 1) {
      const event = await this.next();
      seen.push(event);
      if (fits(event)) return seen;
    }
    throw new Error('10 000 events, and none fits');
  }

  close(): void {
    this.#cut();
  }
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // plain text, as for /readyz and unknown paths
  }
}
