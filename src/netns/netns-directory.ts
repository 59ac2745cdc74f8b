// Owns the list of network namespaces in the netns directory and reports changes. It scans several times after every event and
// ignores the content of the event: a namespace is mounted after its file appears, and a mount causes no event.
import { type Dirent, readdirSync, type watch } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DirectoryWatch } from './directory-watch.ts';
import { identify } from './identify.ts';
import { hiddenHost, MOUNT_NETNS } from './mount-place.ts';
import type { NativeAddon } from './native.ts';
import type { NetnsRef } from './netns-ref.ts';

export interface NetnsEntry extends NetnsRef {
  readonly name: string;
}

/** The content of the netns directory as plain data. */
export interface NetnsSnapshot {
  /** False if the directory could not be read. While it is false, a missing entry does not mean that the netns is gone. */
  readonly complete: boolean;
  /** Sorted by name. */
  readonly entries: readonly NetnsEntry[];
  /** Names in the directory that are not a usable netns, each with the reason. Sorted by name. */
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
}

export interface NetnsDirectoryOptions {
  readonly directory: string;
  readonly addon: Pick<NativeAddon, 'openNetns'>;
  /** Called when the snapshot has changed, including the first scan. */
  readonly onChange: () => void;
  /** Receives a problem with the directory as a whole, in one sentence, each time such a problem begins. */
  readonly onProblem?: (message: string) => void;
  /** In a Pod, a directory that shows nothing of the host is a mistake: see `hiddenHost`. */
  readonly inPod?: boolean;
  /** Tests replace inotify. */
  readonly watch?: typeof watch;
}

/** When to scan after an event. Measured: in 19 of 20 cases the event comes before the mount. */
const RECHECKS_MS = [5, 20, 100, 500];

/** A scan yields to the event loop after this time. */
const SLICE_MS = 5;

/** During a burst of events, scans use at most this share of the thread's time. A scan of 1000 netns takes 25 ms. */
const BUSY_SHARE = 0.5;

export class NetnsDirectory {
  readonly #directory: string;
  readonly #addon: NetnsDirectoryOptions['addon'];
  readonly #onChange: () => void;
  readonly #onProblem: (message: string) => void;
  readonly #watch: DirectoryWatch;
  #snapshot: NetnsSnapshot = Object.freeze({ complete: false, entries: [], problems: [] });
  readonly #inPod: boolean;
  #unreadable: string | null = null;
  #unusable: string | null = null;
  #scanning: Promise<void> | null = null;
  #scanAgain = false;
  #eventMs = Number.NEGATIVE_INFINITY;
  #scannedMs = Number.NEGATIVE_INFINITY;
  #restUntilMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #timerMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor({
    directory,
    addon,
    onChange,
    onProblem = () => {},
    inPod = false,
    watch,
  }: NetnsDirectoryOptions) {
    this.#directory = resolve(directory);
    this.#inPod = inPod;
    this.#addon = addon;
    this.#onChange = onChange;
    this.#onProblem = onProblem;
    this.#watch = new DirectoryWatch({
      directory: this.#directory,
      onEvent: () => this.#event(),
      onPoll: () => this.rescan(),
      onProblem,
      ...(watch && { watch }),
    });
  }

  /** Resolves after the first scan. */
  start(): Promise<void> {
    return this.#scanNow();
  }

  snapshot(): NetnsSnapshot {
    return this.#snapshot;
  }

  /** Why the directory cannot show the namespaces of this host; null: it can. */
  unusable(): string | null {
    return this.#unusable;
  }

  /** Scans now, because some changes, such as a mount, cause no event. */
  rescan(): void {
    void this.#scanNow();
  }

  stop(): void {
    this.#stopped = true;
    this.#watch.stop();
    this.#disarm();
  }

  #event(): void {
    this.#eventMs = performance.now();
    this.#armForNextCheck();
  }

  /** Sets the timer to the first recheck of the last event that is due after the last scan began. A timer that fires sooner stays. */
  #armForNextCheck(): void {
    if (this.#stopped || this.#scanning !== null) return; // the end of the scan calls this again
    const delay = RECHECKS_MS.find((each) => this.#eventMs + each > this.#scannedMs);
    if (delay === undefined) return;
    const dueMs = Math.max(this.#eventMs + delay, this.#restUntilMs);
    if (dueMs >= this.#timerMs) return;
    this.#disarm();
    this.#timerMs = dueMs;
    this.#timer = setTimeout(
      () => {
        this.#disarm();
        void this.#scanNow();
      },
      Math.max(0, Math.ceil(dueMs - performance.now())),
    );
  }

  #disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerMs = Number.POSITIVE_INFINITY;
  }

  /** Runs one scan at a time. If it is called during a scan, one more scan follows. */
  #scanNow(): Promise<void> {
    if (this.#scanning !== null) this.#scanAgain = true;
    else
      this.#scanning = this.#scanUntilQuiet().finally(() => {
        this.#scanning = null;
        this.#armForNextCheck();
      });
    return this.#scanning;
  }

  async #scanUntilQuiet(): Promise<void> {
    do {
      this.#scanAgain = false;
      this.#scannedMs = performance.now();
      this.#watch.ensure();
      const found = await this.#scan();
      if (this.#stopped) return;
      // Not `isEqual` of routing: netns imports no other folder.
      if (isDeepStrictEqual(found, this.#snapshot)) continue;
      this.#snapshot = found;
      this.#onChange();
    } while (this.#scanAgain);
  }

  async #scan(): Promise<NetnsSnapshot> {
    const files = this.#list();
    const entries: NetnsEntry[] = [];
    const problems: { name: string; reason: string }[] = [];
    let busyMs = 0;
    let sliceMs = performance.now();
    for (const file of files ?? []) {
      if (performance.now() - sliceMs > SLICE_MS) {
        busyMs += performance.now() - sliceMs;
        await new Promise((resolve) => setImmediate(resolve));
        if (this.#stopped) break;
        sliceMs = performance.now();
      }
      const path = join(this.#directory, file.name);
      const found = identify(this.#addon, path, file);
      if (found.kind === 'netns')
        entries.push(Object.freeze({ name: file.name, path, identity: found.identity }));
      if (found.kind === 'problem') problems.push(Object.freeze({ name: file.name, reason: found.reason }));
    }
    const nowMs = performance.now();
    busyMs += nowMs - sliceMs;
    this.#restUntilMs = nowMs + busyMs * (1 / BUSY_SHARE - 1);
    return Object.freeze({
      complete: files !== null,
      entries: Object.freeze(entries),
      problems: Object.freeze(problems),
    });
  }

  /** Sorted by name; null if the directory cannot be read. A missing directory is empty: the first `ip netns add` creates it. */
  #list(): Dirent[] | null {
    try {
      const files = readdirSync(this.#directory, { withFileTypes: true });
      this.#unreadable = null;
      this.#unusable = files.length === 0 ? this.#hidden() : null;
      return files.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const missing = code === 'ENOENT';
      if (this.#unreadable !== message) {
        this.#onProblem(
          missing
            ? `the netns directory ${this.#directory} does not exist: no netns is found until it exists`
            : `cannot read the netns directory: ${message}`,
        );
      }
      this.#unreadable = message;
      this.#unusable = missing ? this.#hidden() : message;
      if (missing) return [];
      return null;
    }
  }

  #hidden(): string | null {
    const hidden = this.#inPod ? hiddenHost(this.#directory) : null;
    return hidden && `${hidden}. ${MOUNT_NETNS}`;
  }
}
