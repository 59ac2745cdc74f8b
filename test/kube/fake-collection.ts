// An in-memory API server collection behind the interface of the client, with every fault on demand, for tests with hundreds of
// interleavings. It keeps a history, forgets it on request, and serves pages of one version.
import type { KubeClient, KubeRequest, KubeWatchRequest } from '../../src/kube/kube-client.ts';
import { KubeError, type KubeErrorCode } from '../../src/kube/kube-error.ts';
import type { KubeObject, WatchEvent } from '../../src/kube/kube-object.ts';

interface Watcher {
  readonly queue: (WatchEvent | KubeError | 'end')[];
  wake: () => void;
}

interface Change {
  readonly version: number;
  readonly event: WatchEvent;
}

export class FakeCollection implements KubeClient {
  readonly server = 'https://fake.test';
  readonly identity = 'nobody';
  readonly objects = new Map<string, KubeObject>();
  readonly watchers = new Set<Watcher>();
  readonly requests: KubeRequest[] = [];
  readonly watches: KubeWatchRequest[] = [];
  /** Errors that the next lists and watches throw, in order. */
  readonly listFaults: (KubeError | null)[] = [];
  readonly watchFaults: (KubeError | null)[] = [];
  #history: Change[] = [];
  #forgotten = 0;
  #version = 0;
  #uid = 0;
  readonly #moments = new Map<number, readonly KubeObject[]>();

  get version(): number {
    return this.#version;
  }

  /** Creates or changes an object. */
  put(name: string, spec: unknown = null): void {
    const known = this.objects.get(name);
    const uid = known?.metadata.uid ?? `uid-${++this.#uid}`;
    const object: KubeObject = {
      metadata: { name, namespace: 'ns', uid, resourceVersion: String(++this.#version) },
      spec,
    };
    this.objects.set(name, object);
    this.#happened(known === undefined ? 'ADDED' : 'MODIFIED', object);
  }

  delete(name: string): void {
    const object = this.objects.get(name);
    if (object === undefined) return;
    this.objects.delete(name);
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    this.#happened('DELETED', { ...object, metadata });
  }

  bookmark(version = this.#version): void {
    const object = { metadata: { resourceVersion: String(version) } };
    for (const watcher of this.watchers) this.#send(watcher, { type: 'BOOKMARK', object });
  }

  /** Drops the history. Requests with an older version, and running lists, get 410 Gone. */
  forget(): void {
    this.#forgotten = this.#version;
    this.#history = [];
    this.#moments.clear();
  }

  /** Goes back to an older version, as after a restore from a backup. */
  goBackTo(version: number): void {
    this.#version = version;
    this.#history = [];
    this.#forgotten = 0;
  }

  /** Sends to every open watch. */
  send(...what: (WatchEvent | KubeError | 'end')[]): void {
    for (const watcher of this.watchers) for (const each of what) this.#send(watcher, each);
  }

  async request<T>(request: KubeRequest): Promise<T> {
    this.requests.push(request);
    await turn();
    request.signal?.throwIfAborted();
    const fault = this.listFaults.shift();
    if (fault) throw fault;
    const { limit, continue: token } = request.query ?? {};
    const [moment, offset] = token === undefined ? [this.#version, 0] : String(token).split(':').map(Number);
    const all = offset === 0 ? [...this.objects.values()] : this.#moments.get(moment as number);
    if (all === undefined) throw fakeError('gone', 'list');
    this.#moments.set(moment as number, all);
    const end = (offset as number) + Number(limit ?? Number.POSITIVE_INFINITY);
    const metadata = {
      resourceVersion: String(moment),
      continue: end < all.length ? `${moment}:${end}` : '',
    };
    return { metadata, items: all.slice(offset, end) } as T;
  }

  async *watch(request: KubeWatchRequest): AsyncGenerator<WatchEvent, void, void> {
    this.watches.push(request);
    await turn();
    request.signal.throwIfAborted();
    const fault = this.watchFaults.shift();
    if (fault) throw fault;
    const since = Number(request.query.resourceVersion);
    if (since < this.#forgotten) throw fakeError('gone', 'watch');
    const watcher: Watcher = {
      queue: this.#history.filter(({ version }) => version > since).map(({ event }) => event),
      wake: () => {},
    };
    const abort = () => watcher.wake();
    request.signal.addEventListener('abort', abort);
    this.watchers.add(watcher);
    try {
      request.onOpen?.();
      for (;;) {
        request.signal.throwIfAborted();
        const next = watcher.queue.shift();
        if (next instanceof KubeError) throw next;
        if (next === 'end') return;
        if (next !== undefined) yield next;
        else
          await new Promise<void>((resolve) => {
            watcher.wake = resolve;
          });
      }
    } finally {
      this.watchers.delete(watcher);
      request.signal.removeEventListener('abort', abort);
    }
  }

  callCounts(): ReadonlyMap<string, number> {
    return new Map([
      ['list', this.requests.length],
      ['watch', this.watches.length],
    ]);
  }

  async close(): Promise<void> {}

  #happened(type: string, object: KubeObject): void {
    const event = { type, object };
    this.#history.push({ version: this.#version, event });
    for (const watcher of this.watchers) this.#send(watcher, event);
  }

  #send(watcher: Watcher, what: WatchEvent | KubeError | 'end'): void {
    watcher.queue.push(what);
    watcher.wake();
  }
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function fakeError(code: KubeErrorCode, verb: string, retryAfterMs: number | null = null): KubeError {
  return new KubeError({ code, verb, path: '/apis/x.io/v1/things', detail: 'as scripted', retryAfterMs });
}
