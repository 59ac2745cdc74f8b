// Mirrors one collection of a Kubernetes API: lists it, watches it, and goes on for ever, whatever the server or the network do.
// It only reads. While it cannot, what it knew stays, and the snapshot says since when that is.
import { abortableSleep, untilAborted } from '../abortable.ts';
import { Backoff } from '../backoff.ts';
import type { KubeClient, KubeQuery } from '../kube-client.ts';
import { KubeError, type KubeErrorCode } from '../kube-error.ts';
import { isNumbered, isOlderVersion, type KubeObject, type WatchEvent } from '../kube-object.ts';
import { Mirror } from './mirror.ts';
import {
  problemOf,
  type ReflectorCounts,
  type ReflectorProblem,
  type ReflectorReport,
  type ReflectorSnapshot,
} from './reflector-snapshot.ts';
import { watchChange } from './watch-change.ts';
import { currentVersion, type Position, takeList, wasTooLarge } from './whole-list.ts';

export interface ReflectorDeps<T> {
  readonly client: KubeClient;
  /** Path of the collection; asked before each list, so that a change of the served version is followed. */
  readonly path: () => string | Promise<string>;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only names, labels and such: the bodies stay with the server. */
  readonly metadataOnly?: boolean;
  /** Keeps what is needed of an object. */
  readonly project: (object: KubeObject) => T;
  readonly keyOf?: (object: KubeObject) => string;
  /** Says that two projections mean the same; then nothing changed. */
  readonly equal?: (before: T, after: T) => boolean;
  /** The snapshot says something else now. */
  readonly onChange: () => void;
  /** For log and metrics. */
  readonly onReport?: (report: ReflectorReport) => void;
  /** Monotonic. */
  readonly now?: () => number;
  readonly random?: () => number;
  /** Resolves after the time, or as soon as the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly pageSize?: number;
  /** Between two looks for what the server does not serve. */
  readonly maxAbsentBackoffMs?: number;
}

const FIRST_BACKOFF_MS = 200;
/** An API that is back after a while of flapping is noticed this soon; twenty instances with six watches each ask it 12 times a second. */
const MAX_BACKOFF_MS = 10_000;
/** A CRD that is not installed yet: looked for often enough that nobody waits for it. */
const MAX_ABSENT_BACKOFF_MS = 10_000;
/** A watch that lasted this long was a good one. */
const GOOD_WATCH_MS = 10_000;
/** One that ended sooner was not ended by its time: a server that does so always would be asked without pause. */
const SHORT_WATCH_MS = 1000;
/** The server ends a watch by itself: at different times for each of us, so that they do not all come back at once. */
const MIN_WATCH_S = 300;
const MAX_WATCH_S = 600;
/**
 * An API server sends a bookmark about every minute. Two may be lost in a busy one; after two and a half minutes without a byte
 * something between us swallows them, or the server sends none: then a request brings us up to date. A peer that is gone
 * altogether is found by TCP keepalive within half a minute.
 */
const WATCH_IDLE_MS = 150_000;
const RELIST_EVERY_MS = 3_600_000;
/** After an hourly list that failed, while the watch is well. */
const RELIST_RETRY_MS = 300_000;
/** Whoever asks for lists gets no more than these. */
const MIN_RELIST_MS = 1000;
const PAGE_SIZE = 500;
const MIN_PAGE_SIZE = 10;

const LIST_METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const WATCH_METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

/** The server is not there or asks for patience: nothing is wrong with the place we have reached. */
const KEEPS_POSITION: ReadonlySet<KubeErrorCode> = new Set(['unreachable', 'timeout', 'too-many-requests']);
/** The next attempt may be better; after two without one good event it is the place that is wrong. */
const MAY_KEEP_POSITION: ReadonlySet<KubeErrorCode> = new Set(['server-error', 'unauthorized', 'bad-answer']);

export class Reflector<T> {
  readonly #deps: ReflectorDeps<T>;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #sleep: NonNullable<ReflectorDeps<T>['sleep']>;
  readonly #mirror: Mirror<T>;
  readonly #backoff: Backoff;
  readonly #ready = Promise.withResolvers<void>();
  readonly #counts = { lists: 0, watches: 0, events: 0, failures: 0, badAnswers: 0 };

  /** Ends the list, the watch or the wait that is under way. */
  #step = new AbortController();
  #loop: Promise<void> | null = null;
  #stopped = false;
  #mustList = true;
  #relistWanted = false;
  #relistDueMs = 0;
  #listedAtMs = Number.NEGATIVE_INFINITY;
  /** Lists by number: those that were begun, and the one that what is shown came from, or was watched on from. */
  #listsBegun = 0;
  #listShown = 0;
  #pageSize: number;

  /** What was listed, and up to where it is known. */
  #position: Position | null = null;
  #fruitlessWatches = 0;
  #wasGone = false;
  /** What comes back may have been restored from a backup: a watch from its future hears nothing until it has caught up. */
  #wasAway = false;
  /** The watch that is, or was, under way: a good event came; when it opened. */
  #progress = false;
  #openedAtMs: number | null = null;
  #heardAtMs = 0;

  #synced = false;
  #staleSinceMs: number | null;
  #problem: ReflectorProblem | null = null;
  #snapshot: ReflectorSnapshot<T> | null = null;

  constructor(deps: ReflectorDeps<T>) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
    this.#random = deps.random ?? Math.random;
    this.#sleep = deps.sleep ?? abortableSleep;
    this.#pageSize = deps.pageSize ?? PAGE_SIZE;
    this.#staleSinceMs = this.#now();
    const maxMs = Math.max(MAX_BACKOFF_MS, deps.maxAbsentBackoffMs ?? 0);
    this.#backoff = new Backoff({ firstMs: FIRST_BACKOFF_MS, maxMs, random: this.#random });
    this.#mirror = new Mirror({
      project: deps.project,
      keyOf: deps.keyOf,
      equal: deps.equal,
      onRejected: (key, reason) => this.#report({ kind: 'rejected', key, reason }),
    });
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** The same reference while nothing changed. */
  snapshot(): ReflectorSnapshot<T> {
    this.#snapshot ??= Object.freeze({
      synced: this.#synced,
      staleSinceMs: this.#staleSinceMs,
      problem: this.#problem,
      items: this.#mirror.items(),
      rejected: this.#mirror.rejected(),
    });
    return this.#snapshot;
  }

  /** Names this moment, for `hasTold`. */
  moment(): number {
    return this.#listsBegun;
  }

  /**
   * What is shown holds all that had been written up to this version of the collection (null: one that is not known), which was
   * reached before the moment: the watch has come so far, or everything was listed since (after a backup the version may lie
   * far ahead).
   */
  hasTold(version: string | null, moment: number): boolean {
    if (this.#listShown > moment) return true;
    const known = this.#position?.version;
    return version !== null && known !== undefined && isNumbered(version) && !isOlderVersion(known, version);
  }

  counts(): ReflectorCounts {
    return { ...this.#counts };
  }

  /** Resolves at the first list or the first failure. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Lists anew, also out of a wait after a failure. */
  relist(): void {
    this.#relistWanted = true;
    this.#step.abort();
  }

  /** Nothing of it runs any more when this resolves. */
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
      this.#openedAtMs = null;
      this.#progress = false;
      try {
        await this.#listIfDue(signal);
        await this.#watch(signal);
        this.#backoff.reset();
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
    } catch (error) {
      signal.throwIfAborted();
      // It only makes sure that nothing was missed: the watch goes on from where it was.
      this.#relistDueMs = this.#now() + RELIST_RETRY_MS;
      this.#count(error, RELIST_RETRY_MS);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#relistWanted = false;
    this.#listedAtMs = this.#now();
    const startedMs = this.#now();
    this.#listsBegun += 1;
    const path = await untilAborted(this.#deps.path(), signal);
    const { client, metadataOnly } = this.#deps;
    const accept = metadataOnly ? LIST_METADATA : 'application/json';
    const question = { client, path, query: this.#selectors(), accept, pageSize: this.#pageSize, signal };
    const list = await takeList(question, this.#mirror, this.#position, () => this.#counts.lists++);
    this.#position = list.position;
    this.#listShown = this.#listsBegun;
    if (list.changed || !this.#synced) this.#snapshot = null;
    this.#mustList = this.#wasAway = false;
    this.#fruitlessWatches = 0;
    this.#relistDueMs = this.#now() + RELIST_EVERY_MS * (1 + this.#random() / 10);
    this.#synced = true;
    if (this.#staleSinceMs !== null) this.#setState(startedMs, this.#problem);
    this.#ready.resolve();
    this.#notify();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, metadataOnly } = this.#deps;
    const position = this.#position as Position;
    const seconds = MIN_WATCH_S + Math.floor(this.#random() * (MAX_WATCH_S - MIN_WATCH_S + 1));
    this.#counts.watches++;
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
        if (this.#wasAway) void this.#askHowFar(position, signal);
      },
    });
    for await (const event of events) this.#take(event);
    const lastedMs = this.#openedAtMs === null ? 0 : this.#now() - this.#openedAtMs;
    if (lastedMs < SHORT_WATCH_MS)
      throw new KubeError({
        code: 'unreachable',
        verb: 'watch',
        path: position.path,
        detail: 'the server ended it at once',
      });
  }

  /** Beside the watch, which goes on: an overloaded server is asked for nothing before it has given us that. */
  async #askHowFar({ path, version: known }: Position, signal: AbortSignal): Promise<void> {
    const { client, metadataOnly } = this.#deps;
    const accept = metadataOnly ? LIST_METADATA : 'application/json';
    try {
      const version = await currentVersion({ client, path, query: this.#selectors(), accept, signal });
      this.#wasAway = false;
      if (isOlderVersion(version, known) && !signal.aborted) this.relist();
    } catch {
      // Asked again when the next watch opens; one that stays mute ends in a list as well.
    }
  }

  #selectors(): KubeQuery {
    const { labelSelector, fieldSelector } = this.#deps;
    return { labelSelector, fieldSelector };
  }

  #opened(): void {
    this.#openedAtMs = this.#heardAtMs = this.#now();
    this.#wasGone = false;
    this.#setState(null, null);
    this.#notify();
  }

  #take(event: WatchEvent): void {
    const position = this.#position as Position;
    const change = watchChange(event, position);
    const changed =
      (change.kind === 'there' && this.#mirror.put(change.object)) ||
      (change.kind === 'gone' && this.#mirror.remove(change.object));
    this.#position = { path: position.path, version: change.version };
    this.#progress = true;
    this.#counts.events++;
    this.#heardAtMs = this.#now();
    if (!changed) return;
    this.#snapshot = null;
    this.#notify();
  }

  /** Says how long to wait. */
  #failed(error: unknown): number {
    const problem = problemOf(error);
    const { code } = problem;
    const nowMs = this.#now();
    const lastedMs = this.#openedAtMs === null ? 0 : nowMs - this.#openedAtMs;
    if (lastedMs >= GOOD_WATCH_MS) this.#backoff.reset();
    this.#fruitlessWatches = this.#progress ? 0 : this.#fruitlessWatches + 1;
    // A server that was restored from a backup is silent until it has caught up with us: not even a bookmark comes.
    const wasMute = code === 'timeout' && this.#openedAtMs !== null && !this.#progress;
    const mayGoOn =
      (KEEPS_POSITION.has(code) && !wasMute) || (MAY_KEEP_POSITION.has(code) && this.#fruitlessWatches < 2);
    if (!mayGoOn) this.#mustList = true;
    if (code === 'unreachable') this.#wasAway = true;
    if (wasTooLarge(error)) this.#pageSize = Math.max(MIN_PAGE_SIZE, Math.floor(this.#pageSize / 5));
    // Whoever says that our place is forgotten is there and answers: no reason to wait, unless that is all it ever says.
    if (code === 'gone' && !this.#wasGone) this.#backoff.reset();
    this.#wasGone = code === 'gone';
    const delayMs = this.#backoff.next({
      retryAfterMs: error instanceof KubeError ? error.retryAfterMs : null,
      maxMs: code === 'not-found' ? (this.#deps.maxAbsentBackoffMs ?? MAX_ABSENT_BACKOFF_MS) : MAX_BACKOFF_MS,
    });
    this.#count(error, delayMs);
    // A silence was no knowledge from its beginning; a cut is noticed when it happens.
    const sinceMs = code === 'timeout' && this.#openedAtMs !== null ? this.#heardAtMs : nowMs;
    this.#setState(this.#staleSinceMs ?? sinceMs, problem);
    this.#ready.resolve();
    this.#notify();
    return delayMs;
  }

  #count(error: unknown, retryInMs: number): void {
    const problem = problemOf(error);
    this.#counts.failures++;
    if (problem.code === 'bad-answer') this.#counts.badAnswers++;
    this.#report({ kind: 'failed', problem, retryInMs });
  }

  #setState(staleSinceMs: number | null, problem: ReflectorProblem | null): void {
    const isSame =
      this.#staleSinceMs === staleSinceMs &&
      this.#problem?.code === problem?.code &&
      this.#problem?.message === problem?.message;
    if (isSame) return;
    this.#staleSinceMs = staleSinceMs;
    this.#problem = problem;
    this.#snapshot = null;
  }

  /** At most once for each snapshot that somebody may have seen. */
  #notify(): void {
    if (this.#snapshot !== null || this.#stopped) return;
    try {
      this.#deps.onChange();
    } catch (error) {
      this.#report({ kind: 'callback-threw', reason: String(error) });
    }
  }

  #report(report: ReflectorReport): void {
    try {
      this.#deps.onReport?.(report);
    } catch {
      // Whoever cannot even be told gets nothing; the mirror goes on.
    }
  }
}
