// Mirrors one collection of a Kubernetes API: lists it, then watches it, and retries forever after any failure. It only reads.
// While the API is unreachable, the last known content stays, and the snapshot reports since when it is stale.
import { abortableSleep, untilAborted } from '../abortable.ts';
import type { KubeClient, KubeQuery } from '../kube-client.ts';
import { KubeError } from '../kube-error.ts';
import { isNumbered, isOlderVersion, type KubeObject, type WatchEvent } from '../kube-object.ts';
import { Mirror } from './mirror.ts';
import { problemOf, type ReflectorSnapshot, SnapshotState } from './reflector-snapshot.ts';
import { watchChange } from './watch-change.ts';
import { WatchRetry } from './watch-retry.ts';
import { currentVersion, type Position, takeList, wasTooLarge } from './whole-list.ts';

export interface ReflectorOptions<T> {
  readonly client: KubeClient;
  /** Path of the collection. Called before each list, because the served version can change. */
  readonly path: () => string | Promise<string>;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Requests only the metadata of the objects. */
  readonly metadataOnly?: boolean;
  /** Extracts the needed part of an object. */
  readonly project: (object: KubeObject) => T;
  readonly keyOf?: (object: KubeObject) => string;
  /** If two projections are equal, the object counts as unchanged. */
  readonly equal?: (before: T, after: T) => boolean;
  /** Called when the snapshot changes. */
  readonly onChange: () => void;
  /** Monotonic. */
  readonly now?: () => number;
  readonly random?: () => number;
  /** Resolves after the time, or as soon as the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly pageSize?: number;
  /** Longest wait between two attempts for a resource that the server does not serve. */
  readonly maxAbsentBackoffMs?: number;
  /** Longest wait between two attempts for a resource that the user may not read. */
  readonly maxForbiddenBackoffMs?: number;
}

/** A watch that the server ends earlier than this counts as a failure. Otherwise a broken server would get requests without pause. */
const SHORT_WATCH_MS = 1000;
/** The server ends each watch after a random time in this range, so the instances do not all reconnect at once. */
const MIN_WATCH_S = 300;
const MAX_WATCH_S = 600;
/**
 * An API server sends a bookmark about every minute, and a busy server can skip two. If no byte arrives for two and a half
 * minutes, a middlebox drops the bookmarks or the server sends none. Then a new request brings the mirror up to date. TCP
 * keepalive detects a dead peer within half a minute.
 */
const WATCH_IDLE_MS = 150_000;
const RELIST_EVERY_MS = 3_600_000;
/** Retry time after a failed hourly list, while the watch works. */
const RELIST_RETRY_MS = 300_000;
/** Minimum time between two lists, if `relist` triggers the second. */
const MIN_RELIST_MS = 1000;
const PAGE_SIZE = 500;
const MIN_PAGE_SIZE = 10;

const LIST_METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const WATCH_METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #sleep: NonNullable<ReflectorOptions<T>['sleep']>;
  readonly #mirror: Mirror<T>;
  readonly #state: SnapshotState<T>;
  readonly #retry: WatchRetry;
  readonly #ready = Promise.withResolvers<void>();

  /** Aborts the current list, watch or wait. */
  #step = new AbortController();
  #loop: Promise<void> | null = null;
  #stopped = false;
  #mustList = true;
  #relistWanted = false;
  #relistDueMs = 0;
  #listedAtMs = Number.NEGATIVE_INFINITY;
  /** The number of lists begun, and the number of the list that the current content is based on. */
  #listsBegun = 0;
  #listShown = 0;
  #pageSize: number;

  /** The listed path, and the resource version that the mirror has reached. */
  #position: Position | null = null;
  /**
   * The server was unreachable, and may have been restored from a backup. If our version is ahead of the server's, the watch
   * stays silent until the server reaches that version.
   */
  #mayBeRestored = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#sleep = options.sleep ?? abortableSleep;
    this.#pageSize = options.pageSize ?? PAGE_SIZE;
    const { maxAbsentBackoffMs, maxForbiddenBackoffMs } = options;
    const longest = { maxAbsentBackoffMs, maxForbiddenBackoffMs };
    this.#retry = new WatchRetry({ now: this.#now, random: this.#random, ...longest });
    this.#mirror = new Mirror({ project: options.project, keyOf: options.keyOf, equal: options.equal });
    this.#state = new SnapshotState({ mirror: this.#mirror, staleSinceMs: this.#now() });
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Returns the same reference while nothing changes. */
  snapshot(): ReflectorSnapshot<T> {
    return this.#state.snapshot();
  }

  /** The number of lists begun until now, for `hasReached`. */
  listsBegun(): number {
    return this.#listsBegun;
  }

  /**
   * Whether the content includes all writes up to this version of the collection (null: unknown version). `listsBegun` is the number of
   * lists begun when the server already had the version. True if the watch has reached the version, or if a later list has completed. After a
   * restore from a backup only the list helps, because the version can be far ahead of the server's.
   */
  hasReached(version: string | null, listsBegun: number): boolean {
    if (this.#listShown > listsBegun) return true;
    const known = this.#position?.version;
    return version !== null && known !== undefined && isNumbered(version) && !isOlderVersion(known, version);
  }

  /** Resolves after the first list or the first failure. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Lists again. A wait after a failure ends at once. */
  relist(): void {
    this.#relistWanted = true;
    this.#step.abort();
  }

  /** When it resolves, nothing of this reflector runs. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#step.abort();
    await this.#loop;
    this.#ready.resolve();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#step = new AbortController();
      const { signal } = this.#step;
      this.#retry.attemptBegan();
      try {
        await this.#listIfDue(signal);
        await this.#watch(signal);
        this.#retry.succeeded();
      } catch (error) {
        if (!signal.aborted) await this.#sleep(this.#failed(error), signal);
      }
    }
  }

  async #listIfDue(signal: AbortSignal): Promise<void> {
    if (this.#relistWanted) {
      this.#mustList = true;
      const waitMs = this.#listedAtMs + MIN_RELIST_MS - this.#now();
      if (waitMs > 0) await this.#sleep(waitMs, signal);
    }
    if (this.#mustList) return this.#list(signal);
    if (this.#now() < this.#relistDueMs) return;
    try {
      await this.#list(signal);
    } catch {
      signal.throwIfAborted();
      // The hourly list is only a safety check, so the watch continues from its position.
      this.#relistDueMs = this.#now() + RELIST_RETRY_MS;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#relistWanted = false;
    this.#listedAtMs = this.#now();
    this.#listsBegun += 1;
    const path = await untilAborted(this.#options.path(), signal);
    const { client, metadataOnly } = this.#options;
    const accept = metadataOnly ? LIST_METADATA : 'application/json';
    const question = { client, path, query: this.#selectors(), accept, pageSize: this.#pageSize, signal };
    const list = await takeList(question, this.#mirror, this.#position);
    this.#position = list.position;
    this.#listShown = this.#listsBegun;
    this.#mustList = this.#mayBeRestored = false;
    this.#retry.listed();
    this.#relistDueMs = this.#now() + RELIST_EVERY_MS * (1 + this.#random() / 10);
    this.#state.listed(list.changed, this.#listedAtMs);
    this.#ready.resolve();
    this.#notify();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, metadataOnly } = this.#options;
    const position = this.#position as Position;
    const seconds = MIN_WATCH_S + Math.floor(this.#random() * (MAX_WATCH_S - MIN_WATCH_S + 1));
    const events = client.watch({
      path: position.path,
      query: {
        ...this.#selectors(),
        resourceVersion: position.version,
        allowWatchBookmarks: true,
        timeoutSeconds: seconds,
      },
      accept: metadataOnly ? WATCH_METADATA : 'application/json',
      idleTimeoutMs: WATCH_IDLE_MS,
      signal,
      onOpen: () => {
        this.#opened();
        if (this.#mayBeRestored) void this.#relistIfRestored(position, signal);
      },
    });
    for await (const event of events) this.#take(event);
    if (this.#retry.watchedMs() < SHORT_WATCH_MS)
      throw new KubeError({
        code: 'unreachable',
        verb: 'watch',
        path: position.path,
        detail: 'the server ended the watch immediately',
      });
  }

  /** Runs in parallel with the watch, and only after the watch is open, so that an overloaded server gets no additional request. */
  async #relistIfRestored({ path, version: known }: Position, signal: AbortSignal): Promise<void> {
    const { client, metadataOnly } = this.#options;
    const accept = metadataOnly ? LIST_METADATA : 'application/json';
    try {
      const version = await currentVersion({ client, path, query: this.#selectors(), accept, signal });
      this.#mayBeRestored = false;
      if (isOlderVersion(version, known) && !signal.aborted) this.relist();
    } catch {
      // The next watch tries again when it opens. A watch that stays silent also leads to a list.
    }
  }

  #selectors(): KubeQuery {
    const { labelSelector, fieldSelector } = this.#options;
    return { labelSelector, fieldSelector };
  }

  #opened(): void {
    this.#retry.watchOpened();
    this.#state.current();
    this.#notify();
  }

  #take(event: WatchEvent): void {
    const position = this.#position as Position;
    const change = watchChange(event, position);
    const changed =
      (change.kind === 'exists' && this.#mirror.put(change.object)) ||
      (change.kind === 'deleted' && this.#mirror.remove(change.object));
    this.#position = { path: position.path, version: change.version };
    this.#retry.eventCame();
    if (!changed) return;
    this.#state.contentChanged();
    this.#notify();
  }

  /** Records the failure and returns how long to wait. */
  #failed(error: unknown): number {
    const problem = problemOf(error);
    const { delayMs, keepsPosition, staleSinceMs } = this.#retry.failed(error, problem.code);
    if (!keepsPosition) this.#mustList = true;
    if (problem.code === 'unreachable') this.#mayBeRestored = true;
    if (wasTooLarge(error)) this.#pageSize = Math.max(MIN_PAGE_SIZE, Math.floor(this.#pageSize / 5));
    this.#state.failed(staleSinceMs, problem);
    this.#ready.resolve();
    this.#notify();
    return delayMs;
  }

  /** Calls `onChange` at most once for each snapshot that was read. */
  #notify(): void {
    if (!this.#state.isUnread || this.#stopped) return;
    try {
      this.#options.onChange();
    } catch {
      // A callback that throws must not stop the reflector.
    }
  }
}
