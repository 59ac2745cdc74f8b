// Proves to other processes of this host that this process is alive, or that it has ended. The mark is a unix socket on which it
// listens, in a directory that only its user can write. The kernel closes the socket with the process, also after SIGKILL. A paused process still
// counts as alive, and so does one in another network namespace.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

export interface LivenessMarkOptions {
  readonly directory: string;
  /** `<instance>/<random>`, as in the Lease. */
  readonly holder: string;
}

/** `unknown`: there is no such mark here. */
export type MarkState = 'alive' | 'dead' | 'unknown';

const CONNECT_MS = 1000;
/** A mark has its temporary name for less than a millisecond. If the clock jumps in this time, the process only loses its mark. */
const LEFTOVER_MS = 60_000;

export class LivenessMark {
  readonly #directory: string;
  readonly #holder: string;
  #server: Server | null = null;
  #isClosed = false;

  constructor({ directory, holder }: LivenessMarkOptions) {
    this.#directory = directory;
    this.#holder = holder;
  }

  /** Must come before the Lease names this holder. Throws if the directory cannot be written. */
  async open(): Promise<void> {
    const path = join(this.#directory, markName(this.#holder));
    // Bind a temporary name, then rename: a mark without a listener would mean that this process has ended.
    const server = createServer((socket) => socket.destroy());
    server.listen(`${path}~`);
    await once(server, 'listening');
    server.on('error', () => {}); // one accept failed
    if (this.#isClosed) {
      server.close(); // Node removes the temporary name
      return;
    }
    renameSync(`${path}~`, path);
    this.#server = server;
  }

  stateOf(holder: string): Promise<MarkState> {
    return stateAt(join(this.#directory, markName(holder)));
  }

  /** This process holds the Lease, so sockets of earlier processes of this instance are no longer needed as proof. */
  async sweep(): Promise<void> {
    const prefix = markName(this.#holder).slice(0, PREFIX_LETTERS);
    const own = markName(this.#holder);
    for (const name of namesIn(this.#directory)) {
      if (!name.startsWith(prefix) || name === own) continue;
      const path = join(this.#directory, name);
      // A temporary name belongs to a process that does not listen yet, or was left by one that ended between bind and rename.
      if (name.endsWith('~') && !isLeftover(path)) continue;
      if ((await stateAt(path)) === 'dead') rmSync(path, { force: true });
    }
  }

  /** `forget`: the Lease is released, and nothing has to be proven. Otherwise the mark stays and shows that this process has ended. */
  close({ forget }: { readonly forget: boolean }): void {
    this.#isClosed = true;
    if (this.#server === null) return;
    this.#server.close();
    this.#server = null;
    if (forget) rmSync(join(this.#directory, markName(this.#holder)), { force: true });
  }
}

/** Letters of the name that all processes of an instance share. */
const PREFIX_LETTERS = 'lease-'.length + 8;

/** Short: the path of a unix socket has at most 107 bytes. */
function markName(holder: string): string {
  const [instance = '', id = ''] = splitLast(holder);
  const hash = (text: string, letters: number) =>
    createHash('sha256').update(text).digest('hex').slice(0, letters);
  return `lease-${hash(instance, 8)}-${hash(id, 8)}`;
}

function splitLast(holder: string): [instance: string, id: string] {
  const at = holder.lastIndexOf('/');
  return [holder.slice(0, Math.max(0, at)), holder.slice(at + 1)];
}

function stateAt(path: string): Promise<MarkState> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const done = (state: MarkState) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(state);
    };
    // If connect() does not finish, the accept queue is full, so the process exists.
    const timer = setTimeout(() => done('alive'), CONNECT_MS);
    socket.once('connect', () => done('alive'));
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') done('dead');
      else done(code === 'EAGAIN' ? 'alive' : 'unknown');
    });
  });
}

function isLeftover(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > LEFTOVER_MS;
  } catch {
    return false; // it has its final name now
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
