// Says that something may have changed in a directory that can be missing, removed and made again. It falls back to polling
// where inotify has no more watches to give. It never says what changed, and may say it once too often.
import { type FSWatcher, watch as fsWatch, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';

const POLL_MS = 1000;

export interface DirectoryWatchDeps {
  readonly directory: string;
  readonly onEvent: () => void;
  /** Instead of events, every second. */
  readonly onPoll: () => void;
  readonly onProblem: (message: string) => void;
  readonly watch?: typeof fsWatch;
}

/** What inotify is attached to: the directory, or its nearest parent that exists. */
interface Aim {
  readonly path: string;
  /** Device and inode when the watch was set: inotify stays with the old directory when another takes its place. */
  readonly file: string;
  readonly watcher: FSWatcher;
}

export class DirectoryWatch {
  readonly #deps: DirectoryWatchDeps;
  readonly #watch: typeof fsWatch;
  #aim: Aim | null = null;
  #poll: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(deps: DirectoryWatchDeps) {
    this.#deps = deps;
    this.#watch = deps.watch ?? fsWatch;
  }

  /** Makes sure that the right directory is watched. Call it before every look at the directory, so that nothing falls between. */
  ensure(): void {
    if (this.#stopped) return;
    // Bounded: each round either settles or lost a race with somebody who removes directories.
    for (let round = 0; round < 10; round++) {
      const nearest = nearestDirectory(this.#deps.directory);
      if (this.#aim !== null && this.#aim.path === nearest.path && this.#aim.file === nearest.file) return;
      this.#drop();
      try {
        this.#aim = this.#aimAt(nearest);
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

  #aimAt({ path, file }: { path: string; file: string }): Aim {
    const { directory, onEvent } = this.#deps;
    const wanted = path === directory ? null : nextComponent(path, directory);
    const watcher = this.#watch(path, (_event, name) => {
      // The directory's own name comes when it was removed or moved: the watch is dead or follows the wrong one.
      if (name === basename(path)) this.#drop();
      else if (wanted !== null && name !== null && name !== wanted) return; // a busy parent such as /run
      onEvent();
    });
    watcher.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (this.#aim?.watcher !== watcher) return;
      this.#drop();
      this.#startPolling(code, message);
    });
    return { path, file, watcher };
  }

  #drop(): void {
    this.#aim?.watcher.close();
    this.#aim = null;
  }

  #startPolling(code: string | undefined, message: string): void {
    if (this.#poll !== null || this.#stopped) return;
    // Each tick leads to a look, each look to ensure(): inotify is used again as soon as it can be.
    this.#poll = setInterval(this.#deps.onPoll, POLL_MS);
    this.#deps.onProblem(
      `cannot watch ${this.#deps.directory}, looking every ${POLL_MS} ms instead: ${message}${HINTS[code ?? ''] ?? ''}`,
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
      // Missing, or not ours to look at: the watch then tells what is wrong with its parent.
      if (path === dirname(path)) return { path, file: '' };
    }
  }
}

/** The name below `parent` on the way to `directory`. */
function nextComponent(parent: string, directory: string): string {
  let path = directory;
  while (dirname(path) !== parent) path = dirname(path);
  return basename(path);
}
