// One open watch: sends missed changes, then new changes, as lines of JSON, with bookmarks, until its timeout.
// It never waits for its client: it cuts a client that does not read, as the real API server does.
import type { ServerResponse } from 'node:http';
import { type ApiError, expired, tooLargeResourceVersion } from '../api-error.ts';
import type { Change, Entry, ObjectStore } from '../store/object-store.ts';
import type { Matcher } from '../store/selectors.ts';
import { apiVersionOf } from '../stored-object.ts';
import type { ApiOfType } from '../types/resource-type.ts';
import { type Form, rendered } from './object-rendering.ts';
import type { ResourceRequest } from './request-info.ts';

const UNREAD_LIMIT = 64 * 1024 * 1024;
const BOOKMARK_BEFORE_END_MS = 2000;

export interface WatchOptions {
  readonly request: ResourceRequest;
  readonly user: string;
  readonly target: ApiOfType;
  readonly form: Form;
  readonly namespace: string | null;
  readonly matches: Matcher;
  /** null: the watch starts with the current state, as ADDED events. */
  readonly since: number | null;
  /** The minimum resource version of the initial events. */
  readonly notOlderThan: number;
  readonly initialEvents: 'none' | 'plain' | 'with-bookmark';
  readonly bookmarks: boolean;
  readonly bookmarkIntervalMs: number;
  readonly timeoutMs: number;
}

export class WatchStream {
  readonly options: WatchOptions;
  readonly #response: ServerResponse;
  readonly #store: ObjectStore;
  readonly #release: () => void;
  readonly #endTimer: NodeJS.Timeout;
  #bookmarkTimer: NodeJS.Timeout | null = null;
  #unsent = '';
  #flushing = false;
  #silent = false;

  constructor(
    connection: { readonly store: ObjectStore; readonly response: ServerResponse },
    options: WatchOptions,
  ) {
    this.options = options;
    this.#store = connection.store;
    this.#response = connection.response;
    this.#endTimer = setTimeout(() => this.end(), options.timeoutMs);
    const { target, since, initialEvents } = options;
    const key = target.type.key;
    connection.response.writeHead(200, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-cache, private',
    });
    connection.response.flushHeaders();
    if (options.notOlderThan > connection.store.revision) {
      this.#release = () => {};
      this.#fail(tooLargeResourceVersion(options.notOlderThan, connection.store.revision));
      return;
    }
    const missed = since === null ? [] : connection.store.changesSince(key, since);
    if (missed === null) {
      this.#release = () => {};
      this.#fail(expired(`too old resource version: ${since} (${connection.store.revision})`));
      return;
    }
    if (since === null && initialEvents !== 'none')
      for (const entry of connection.store.list(key, options.namespace))
        if (options.matches(entry.object)) this.#send('ADDED', entry);
    if (initialEvents === 'with-bookmark') this.#sendBookmark({ 'k8s.io/initial-events-end': 'true' });
    for (const change of missed) this.#onChange(change);
    this.#release = connection.store.subscribe(key, (change) => {
      // After a restore a client can have a newer revision. It gets no events until the store has passed that revision.
      if (since === null || change.revision > since) this.#onChange(change);
    });
    const end = performance.now() + options.timeoutMs;
    if (options.bookmarks) this.#planBookmark(end);
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** For faults: sends bytes that are not an event. */
  write(text: string): void {
    this.#flush();
    this.#response.write(text);
  }

  /** For faults: the connection stays open, but no more events are sent. */
  silence(silent: boolean): void {
    this.#silent = silent;
  }

  /** For faults: breaks the connection. */
  cut(): void {
    this.stop();
    this.#response.destroy();
  }

  end(): void {
    this.#flush();
    this.stop();
    this.#response.end();
  }

  /** Releases all resources. The owner calls it when the client has disconnected. */
  stop(): void {
    clearTimeout(this.#endTimer);
    if (this.#bookmarkTimer !== null) clearTimeout(this.#bookmarkTimer);
    this.#release();
  }

  #fail({ status }: ApiError): void {
    this.#line('ERROR', JSON.stringify(status));
    this.end();
  }

  #onChange({ type, entry, previous }: Change): void {
    const { namespace, matches } = this.options;
    if (namespace !== null && entry.namespace !== namespace) return;
    const before = previous !== null && matches(previous.object);
    const now = type !== 'DELETED' && matches(entry.object);
    if (now) this.#send(before ? 'MODIFIED' : 'ADDED', entry);
    // An object that no longer matches is DELETED for this watch: its last matching state, with the new revision.
    else if (before && previous !== null)
      this.#send('DELETED', type === 'DELETED' ? entry : withRevision(previous, entry.revision));
  }

  #send(type: string, entry: Entry): void {
    this.#line(type, rendered(entry, this.options.target, this.options.form));
  }

  #sendBookmark(annotations?: Readonly<Record<string, string>>): void {
    const { target, form } = this.options;
    const metadata = {
      resourceVersion: String(this.#store.revision),
      ...(annotations === undefined ? {} : { annotations }),
    };
    const object =
      form === 'metadata'
        ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
        : { kind: target.type.kind, apiVersion: apiVersionOf(target.api), metadata };
    this.#line('BOOKMARK', JSON.stringify(object));
  }

  #planBookmark(end: number): void {
    const untilEnd = end - performance.now() - BOOKMARK_BEFORE_END_MS;
    const wait =
      untilEnd > 0 ? Math.min(this.options.bookmarkIntervalMs, untilEnd) : this.options.bookmarkIntervalMs;
    this.#bookmarkTimer = setTimeout(() => {
      this.#sendBookmark();
      this.#planBookmark(end);
    }, wait);
  }

  #line(type: string, object: string): void {
    if (this.#silent) return;
    this.#unsent += `{"type":"${type}","object":${object}}\n`;
    if (this.#flushing) return;
    // Changes come in bursts: one write for each burst.
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#unsent === '' || this.closed) return;
    this.#response.write(this.#unsent);
    this.#unsent = '';
    if (this.#response.writableLength > UNREAD_LIMIT) this.cut();
  }
}

function withRevision(entry: Entry, revision: number): Entry {
  const metadata = { ...entry.object.metadata, resourceVersion: String(revision) };
  return { ...entry, object: { ...entry.object, metadata }, revision, rendered: new Map() };
}
