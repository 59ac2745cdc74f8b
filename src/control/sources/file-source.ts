// Reads clusters, additional listeners and machines from a directory of manifests, and reads it again after each change. A broken file
// affects no other file: its last valid content stays in use until the file is repaired or deleted.
import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isEqual } from '../../routing/changes.ts';
import type { Problem } from '../objects/problem.ts';
import type { ReadyCheck } from '../objects/ready-check.ts';
import { byText } from '../objects/text-order.ts';
import type { ListenerReadingSettings } from './additional-listener.ts';
import type { ClusterSource, ReadingSettings, SourceSnapshot } from './cluster-source.ts';
import { type ListenerSnapshot, NO_LISTENERS } from './listener-snapshot.ts';
import type { MachineFacts } from './machine.ts';
import {
  lookAtManifest,
  type ManifestContents,
  type ManifestLimits,
  type ManifestReading,
} from './manifest-reading.ts';
import { type FileContent, type ManifestSnapshot, mergedSnapshot } from './manifest-snapshot.ts';
import { eventLoopYielder } from './yield-to-event-loop.ts';

export interface FileSourceOptions {
  readonly directory: string;
  readonly settings: ReadingSettings & Partial<ListenerReadingSettings>;
  /** How long the directory must be unchanged before it is read: programs rarely write a file in one step. */
  readonly debounceMs?: number;
  /**
   * The directory is also read at this interval. Some changes raise no event: behind a symbolic link, on a network file
   * system, or when the directory reappears.
   */
  readonly intervalMs?: number;
  readonly limits?: Partial<ManifestLimits & { readonly files: number }>;
}

const DEFAULT_LIMITS = { files: 10_000, yamlBytes: 4 * 1024 * 1024, jsonBytes: 16 * 1024 * 1024 };
const DEFAULT_DEBOUNCE_MS = 75;
const DEFAULT_INTERVAL_MS = 10_000;
/** A directory that changes all the time is read at this interval. */
const MAX_DEBOUNCE_MS = 1000;
/** A missing directory cannot be watched, so it is polled. */
const MISSING_RETRY_MS = 1000;

/** What one scan has found so far. It stays valid if the scan fails halfway. */
interface Scan {
  againMs: number;
  changed: boolean;
  readonly problems: Problem[];
}

export class FileSource implements ClusterSource {
  readonly #options: FileSourceOptions;
  readonly #limits: typeof DEFAULT_LIMITS;
  readonly #files = new Map<string, FileContent>();
  #directoryProblems: readonly Problem[] = [];
  /** The last listing succeeded, and did not exceed the limit on the number of files. */
  #listed = false;
  /** A listing succeeded at least once. */
  #wasRead = false;
  #snapshot: ManifestSnapshot = {
    clusters: Object.freeze({ complete: false, clusters: [], problems: [] }),
    listeners: NO_LISTENERS,
    controlPlanes: [],
  };
  #onChange: () => void = () => {};

  #watcher: FSWatcher | null = null;
  #watched = '';
  #listedIdentity = '';
  #timer: NodeJS.Timeout | null = null;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #eventsSinceMs: number | null = null;
  #scanning: Promise<void> | null = null;
  #skipsYoung = false;
  #stopped = false;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
  }

  async start(onChange: () => void): Promise<void> {
    await this.rescan();
    this.#skipsYoung = true;
    // Set after the first scan: the caller of `start` reads the first snapshot anyway.
    this.#onChange = onChange;
  }

  snapshot(): SourceSnapshot {
    return this.#snapshot.clusters;
  }

  /** An invalid file does not fail the check: it affects only its own clusters. */
  readyChecks(): readonly ReadyCheck[] {
    const [problem] = this.#directoryProblems;
    return [{ name: 'manifests', failure: this.#wasRead ? null : (problem?.reason ?? 'not read yet') }];
  }

  /** Changes are reported by the same `onChange`. */
  get listeners(): { snapshot(): ListenerSnapshot } {
    return { snapshot: () => this.#snapshot.listeners };
  }

  /** Changes are reported by the same `onChange`. */
  get controlPlanes(): { snapshot(): readonly MachineFacts[]; isKnown(): boolean } {
    return { snapshot: () => this.#snapshot.controlPlanes, isKnown: () => true };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#onChange = () => {};
    await this.#scanning;
    this.#unschedule();
    this.#unwatch();
  }

  /** Scans the directory now. Resolves when the snapshot shows a state at or after the time of the call. */
  async rescan(): Promise<void> {
    while (this.#scanning !== null) await this.#scanning;
    if (this.#stopped) return;
    this.#scanning = this.#scan().finally(() => {
      this.#scanning = null;
    });
    await this.#scanning;
  }

  /** Schedules a scan in `delayMs`, unless an earlier one is scheduled. */
  #schedule(delayMs: number): void {
    const dueAtMs = Math.min(this.#dueAtMs, Date.now() + delayMs);
    this.#unschedule();
    if (this.#stopped) return;
    this.#dueAtMs = dueAtMs;
    this.#timer = setTimeout(() => void this.rescan(), Math.max(0, dueAtMs - Date.now()));
  }

  #unschedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
  }

  /** After an event in the directory: schedules a scan for when events pause, but at most MAX_DEBOUNCE_MS later. */
  #noticed(): void {
    const now = Date.now();
    this.#eventsSinceMs ??= now;
    const latestMs = this.#eventsSinceMs + MAX_DEBOUNCE_MS - now;
    this.#unschedule();
    this.#schedule(Math.max(0, Math.min(this.#options.debounceMs ?? DEFAULT_DEBOUNCE_MS, latestMs)));
  }

  async #scan(): Promise<void> {
    this.#unschedule();
    this.#eventsSinceMs = null;
    const { directory, intervalMs = DEFAULT_INTERVAL_MS } = this.#options;
    const scan: Scan = { againMs: intervalMs, changed: false, problems: [] };
    try {
      const names = await this.#list(scan);
      if (names === null || !(await this.#readFiles(names, scan))) return;
    } catch (error) {
      scan.changed ||= this.#listed;
      this.#listed = false;
      this.#unwatch();
      scan.againMs = Math.min(scan.againMs, MISSING_RETRY_MS);
      const kept = this.#files.size > 0 ? '; the last valid content stays in use' : '';
      scan.problems.push({ origin: directory, reason: `${(error as Error).message}${kept}` });
    }
    const isSame = !scan.changed && isEqual(scan.problems, this.#directoryProblems);
    this.#directoryProblems = scan.problems;
    if (!isSame) this.#renew();
    this.#schedule(scan.againMs);
  }

  /** The names of the manifests; null: this source was stopped meanwhile. */
  async #list({ problems }: Scan): Promise<readonly string[] | null> {
    const { directory } = this.#options;
    // Only this stat runs in Node's thread pool: a network file system that hangs blocks a pool thread, not the control thread.
    const { dev, ino } = await stat(directory, { bigint: true });
    if (this.#stopped) return null;
    // Watch before listing: a change between the two raises an event.
    const identity = `${dev}:${ino}`;
    problems.push(...this.#watchDirectory(identity));
    const names = manifestNames(readdirSync(directory));
    if (names.length === 0 && this.#files.size > 0 && identity !== this.#listedIdentity) {
      // After an unmount, the path shows the empty directory below the volume. The clusters still exist.
      throw new Error('another directory without manifests replaced this directory');
    }
    this.#listedIdentity = identity;
    return names;
  }

  /** False: this source was stopped meanwhile. */
  async #readFiles(names: readonly string[], scan: Scan): Promise<boolean> {
    const { directory, debounceMs = DEFAULT_DEBOUNCE_MS } = this.#options;
    const { read, left } = this.#withinLimit(names);
    if (left.length > 0) {
      const reason = `not read, as are ${left.length - 1} other files: ${names.length} files exceed the limit of ${this.#limits.files}`;
      scan.problems.push({ origin: left[0] ?? directory, reason });
    }
    for (const name of this.#files.keys())
      if (!read.has(name)) scan.changed = this.#files.delete(name) || scan.changed;
    const yieldIfDue = eventLoopYielder();
    for (const name of read) {
      await yieldIfDue();
      if (this.#stopped) return false;
      const outcome = await this.#scanFile(name);
      scan.changed ||= outcome === 'changed';
      if (outcome === 'retry') scan.againMs = Math.min(scan.againMs, debounceMs);
    }
    this.#wasRead = true;
    const listed = left.length === 0;
    scan.changed ||= listed !== this.#listed;
    this.#listed = listed;
    return true;
  }

  /** Known files come first: a new file must not evict a cluster that is served. */
  #withinLimit(names: readonly string[]): { read: ReadonlySet<string>; left: readonly string[] } {
    const known = names.filter((name) => this.#files.has(name));
    const fresh = names.filter((name) => !this.#files.has(name));
    const room = Math.max(0, this.#limits.files - known.length);
    return { read: new Set([...known, ...fresh.slice(0, room)]), left: fresh.slice(room) };
  }

  async #scanFile(name: string): Promise<'same' | 'changed' | 'retry'> {
    const { directory } = this.#options;
    const settings = { ignoredLabels: new Set<string>(), ...this.#options.settings };
    const known = this.#files.get(name);
    const look = await lookAtManifest({
      ...{ directory, name, settings },
      knownStamp: known?.stamp ?? null,
      skipYoung: this.#skipsYoung,
      limits: this.#limits,
    });
    switch (look.kind) {
      case 'unchanged':
        return 'same';
      case 'changing':
        return 'retry';
      case 'read':
        this.#files.set(name, contentOf(name, look.reading, known?.lastGood ?? null));
        return 'changed';
    }
  }

  #renew(): void {
    const next = mergedSnapshot(this.#files, this.#listed, this.#directoryProblems);
    // A touched file, or a file that stays unreadable, usually produces an equal snapshot.
    if (isEqual(next, this.#snapshot)) return;
    this.#snapshot = next;
    this.#onChange();
  }

  #watchDirectory(identity: string): readonly Problem[] {
    const { directory } = this.#options;
    // A watch stays on the directory that it was created for, even when another directory takes over the path.
    if (this.#watcher !== null && this.#watched === identity) return [];
    this.#unwatch();
    try {
      // React to every event regardless of its file name: a ConfigMap volume changes by renaming `..data`.
      this.#watcher = watch(directory, () => this.#noticed());
      this.#watcher.on('error', () => this.#unwatch());
      this.#watched = identity;
      return [];
    } catch (error) {
      return [
        {
          origin: directory,
          reason: `the directory cannot be watched and is only read at intervals: ${(error as Error).message}`,
        },
      ];
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}

/** Dot files belong to editors and to ConfigMap volumes (`..data`, `..2026_08_01…`). `#x#` and `~$x` belong to editors. */
function manifestNames(names: readonly string[]): string[] {
  return names.filter((name) => /\.(?:ya?ml|json)$/.test(name) && !/^(?:\.|#|~\$)/.test(name)).sort(byText);
}

function contentOf(name: string, reading: ManifestReading, lastGood: ManifestContents | null): FileContent {
  const emptied = reading.errors.length === 0 && isEmpty(reading.contents) && reading.skipped.length === 0;
  const errors =
    emptied && lastGood !== null && !isEmpty(lastGood)
      ? // A program that writes a file in place truncates it first, so an empty file does not mean that its objects are gone.
        [{ origin: name, reason: 'the file is empty now: delete it to remove its objects' }]
      : reading.errors;
  if (errors.length === 0) {
    return { ...reading, errors, lastGood: reading.contents };
  }
  const kept = lastGood === null ? '' : '; its last valid content stays in use';
  return {
    ...reading,
    errors: errors.map(({ origin, reason }) => ({ origin, reason: `${reason}${kept}` })),
    // Without earlier valid content, use the documents that can be read.
    contents: lastGood ?? reading.contents,
    lastGood,
  };
}

const isEmpty = ({ clusters, listeners, machines }: ManifestContents): boolean =>
  clusters.length + listeners.length + machines.length === 0;
