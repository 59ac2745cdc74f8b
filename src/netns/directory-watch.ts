// Reports that a directory may have changed. The directory can be missing, and can be removed and created again.
// Without a free inotify watch, it polls. A report does not say what changed, and some reports follow no change.
import { type FSWatcher, watch as fsWatch, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';

const POLL_MS = 1000;

export interface DirectoryWatchOptions {
  readonly directory: string;
  readonly onEvent: () => void;
  /** Called every second instead of `onEvent` while inotify is not available. */
  readonly onPoll: () => void;
  readonly onProblem: (message: string) => void;
  readonly watch?: typeof fsWatch;
}

/** The target of the inotify watch: the directory, or its nearest existing parent. */
interface WatchTarget {
  readonly path: string;
  /** Device and inode at the time of the watch. Detects that another directory has replaced it: inotify would keep watching the old one. */
  readonly file: string;
  readonly watcher: FSWatcher;
}

export class DirectoryWatch {
  readonly #options: DirectoryWatchOptions;
  readonly #watch: typeof fsWatch;
  #target: WatchTarget | null = null;
  #poll: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: DirectoryWatchOptions) {
    this.#options = options;
    this.#watch = options.watch ?? fsWatch;
  }

  /** Makes sure that the right directory is watched. Call it before every scan, so that each later change causes an event. */
  ensure(): void {
    if (this.#stopped) return;
    // A round repeats only if another process removed a directory in between. The number of rounds is bounded.
    for (let round = 0; round < 10; round++) {
      const nearest = nearestDirectory(this.#options.directory);
      if (this.#target !== null && this.#target.path === nearest.path && this.#target.file === nearest.file)
        return;
      this.#drop();
      try {
        this.#target = this.#watchAt(nearest);
        this.#stopPolling();
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT') continue;
        this.#startPolling(code, message);
        return;
      }
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#drop();
    this.#stopPolling();
  }

  #watchAt({ path, file }: { path: string; file: string }): WatchTarget {
    const { directory, onEvent } = this.#options;
    const wanted = path === directory ? null : nextComponent(path, directory);
    const watcher = this.#watch(path, (_event, name) => {
      // An event with the directory's own name means that it was removed or moved. The watch is then stale.
      if (name === basename(path)) this.#drop();
      else if (wanted !== null && name !== null && name !== wanted) return; // ignores other names in a busy parent such as /run
      onEvent();
    });
    watcher.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (this.#target?.watcher !== watcher) return;
      this.#drop();
      this.#startPolling(code, message);
    });
    return { path, file, watcher };
  }

  #drop(): void {
    this.#target?.watcher.close();
    this.#target = null;
  }

  #startPolling(code: string | undefined, message: string): void {
    if (this.#poll !== null || this.#stopped) return;
    // Each tick causes a scan. Each scan calls ensure(), which returns to inotify as soon as that works.
    this.#poll = setInterval(this.#options.onPoll, POLL_MS);
    this.#options.onProblem(
      `cannot watch ${this.#options.directory}, so it is scanned every ${POLL_MS} ms: ${message}${HINTS[code ?? ''] ?? ''}`,
    );
  }

  #stopPolling(): void {
    if (this.#poll !== null) clearInterval(this.#poll);
    this.#poll = null;
  }
}

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: ' (raise sysctl fs.inotify.max_user_watches)',
  EMFILE: ' (raise sysctl fs.inotify.max_user_instances, or the limit of open files)',
};

function nearestDirectory(directory: string): { path: string; file: string } {
  for (let path = directory; ; path = dirname(path)) {
    try {
      const { dev, ino } = statSync(path);
      return { path, file: `${dev}:${ino}` };
    } catch {
      // Missing or not accessible: try the parent. Watching the parent reports its own error.
      if (path === dirname(path)) return { path, file: '' };
    }
  }
}

/** The path component directly below `parent` on the path to `directory`. */
function nextComponent(parent: string, directory: string): string {
  let path = directory;
  while (dirname(path) !== parent) path = dirname(path);
  return basename(path);
}
