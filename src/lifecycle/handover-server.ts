// The place where our successor finds us: hands it the listening sockets, and lets go of them once it says that it serves. One that
// ends before that, or hangs, changes nothing. Who may connect is decided by the directory and, once more, by the kernel's word on
// the peer.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { descriptorOf } from '../netns/descriptor.ts';
import type { NativeAddon } from '../netns/native.ts';
import { HandoverError, meetingPath } from './handover-directory.ts';
import {
  type FromPredecessor,
  MOST_LINE_BYTES,
  messageLine,
  type ToPredecessor,
  toPredecessor,
} from './handover-messages.ts';
import { readLines } from './line-reader.ts';

export interface Successor {
  readonly pid: number;
  readonly version: string;
}

export type UpgradeOutcome =
  | ({ readonly kind: 'upgraded' } & Successor)
  | { readonly kind: 'failed'; readonly reason: string };

/** `starts`: it has our sockets. `late`: it had its time, and the next one may try. `ended`: before it served. */
export interface SuccessorChange {
  readonly kind: 'starts' | 'late' | 'ended';
  readonly successor: Successor;
}

export interface HandoverServerDeps {
  readonly directory: string;
  readonly addon: Pick<NativeAddon, 'sendDescriptors' | 'peerOf'>;
  readonly uid: number;
  readonly version: string;
  /** All that listen now. */
  readonly sockets: () => readonly { readonly name: string; readonly fd: number; readonly pinned: boolean }[];
  /** It serves: accept nothing more. What it answers is awaited before the successor is told. */
  readonly release: (successor: Successor) => Promise<void>;
  /** Somebody wants us to start our successor. */
  readonly upgrade: (environment: Readonly<Record<string, string>> | null) => Promise<UpgradeOutcome>;
  /** How long one that has our sockets may take until it serves. */
  readonly startLimitMs: number;
  readonly onSuccessor: (change: SuccessorChange) => void;
  readonly onStranger: (pid: number, uid: number) => void;
}

/** Of one message: the kernel's bound is 253. */
const SOCKETS_PER_MESSAGE = 100;
const MOST_CONNECTIONS = 16;
/** For one that takes our sockets; it reads every few milliseconds. */
const GIVE_MS = 10_000;
const FULL_MS = 2;

interface Candidate {
  readonly successor: Successor;
  readonly socket: Socket;
}

export class HandoverServer {
  readonly #deps: HandoverServerDeps;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  #starting: Candidate | null = null;
  #startTimer: NodeJS.Timeout | undefined;
  #late: Candidate | null = null;
  #givingTo: Socket | null = null;
  #handedOver = false;
  #isOpen = false;

  constructor(deps: HandoverServerDeps) {
    this.#deps = deps;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** From now on a successor finds us, and no longer whoever was there before. */
  async open(): Promise<void> {
    const path = meetingPath(this.#deps.directory);
    // By another name first: there is always somebody at the path, and Node removes only the name that it made itself.
    const ours = `${path}.${randomBytes(4).toString('hex')}`;
    try {
      this.#server.listen(ours);
      await once(this.#server, 'listening');
    } catch (error) {
      throw new HandoverError(`--handover ${this.#deps.directory}: ${(error as Error).message}`, {
        cause: error,
      });
    }
    this.#server.on('error', () => {}); // accepting one connection failed: the next may succeed
    chmodSync(ours, 0o600);
    renameSync(ours, path);
    this.#isOpen = true;
  }

  /** That has our sockets, and does not serve yet. */
  get starting(): Successor | null {
    return this.#starting?.successor ?? null;
  }

  /** That did not come to serve in time, and lives: nobody knows what it waits for. */
  get late(): Successor | null {
    return this.#late?.successor ?? null;
  }

  /** Nobody finds us any more; what is under way is ended. */
  close(): void {
    clearTimeout(this.#startTimer);
    this.#server.close();
    // A successor still reads our last word, and has put its own socket in this place.
    if (this.#handedOver) return;
    for (const socket of this.#connections) socket.destroy();
    if (this.#isOpen) rmSync(meetingPath(this.#deps.directory), { force: true });
    this.#isOpen = false;
  }

  #accept(socket: Socket): void {
    const { addon, uid, onStranger } = this.#deps;
    socket.on('error', () => {}); // `close` follows
    const fd = descriptorOf(socket);
    if (fd < 0) return; // it has left already
    const peer = addon.peerOf(fd);
    if (peer.uid !== uid && peer.uid !== 0) {
      onStranger(peer.pid, peer.uid);
      socket.destroy();
      return;
    }
    this.#connections.add(socket);
    socket.once('close', () => this.#left(socket));
    readLines(socket, (line) => {
      const message = toPredecessor(line);
      if (message === null)
        answer(socket, { kind: 'refused', reason: 'it does not understand the question' });
      else void this.#handle(socket, peer.pid, message);
    });
  }

  async #handle(socket: Socket, pid: number, message: ToPredecessor): Promise<void> {
    const { upgrade, release } = this.#deps;
    switch (message.kind) {
      case 'take':
        return this.#give(socket, { pid, version: message.version });
      case 'serving': {
        if (this.#starting?.socket !== socket || this.#handedOver) return;
        this.#handedOver = true;
        clearTimeout(this.#startTimer);
        await release(this.#starting.successor);
        answer(socket, { kind: 'released' });
        return;
      }
      case 'upgrade':
        answer(socket, await upgrade(message.environment));
        socket.end();
    }
  }

  async #give(socket: Socket, successor: Successor): Promise<void> {
    const { onSuccessor, startLimitMs } = this.#deps;
    if (this.#handedOver || this.#starting !== null || this.#givingTo !== null) {
      answer(socket, { kind: 'refused', reason: 'another successor was faster' });
      return;
    }
    this.#givingTo = socket;
    try {
      await this.#giveAll(socket);
    } catch {
      socket.destroy(); // it ended while it asked, or does not read
      return;
    } finally {
      this.#givingTo = null;
    }
    this.#starting = { successor, socket };
    this.#startTimer = setTimeout(() => this.#giveUp(), startLimitMs).unref();
    onSuccessor({ kind: 'starts', successor });
  }

  /** It may hang for ever, and nobody else could follow us: it hears that it is too late, if it hears anything, and ends. */
  #giveUp(): void {
    const { onSuccessor, startLimitMs } = this.#deps;
    const starting = this.#starting;
    if (starting === null || this.#handedOver) return;
    this.#starting = null;
    this.#late?.socket.destroy(); // of such only the last one is remembered
    this.#late = starting;
    const seconds = startLimitMs / 1000;
    const reason = `a successor must serve within ${seconds} s, and this one is too late`;
    answer(starting.socket, { kind: 'refused', reason });
    starting.socket.end();
    onSuccessor({ kind: 'late', successor: starting.successor });
  }

  /** Past Node, which has written nothing here yet. A few hundred sockets fill the kernel's buffer: there is room when some are read. */
  async #giveAll(socket: Socket): Promise<void> {
    const { addon, version, sockets } = this.#deps;
    const given = new Set<string>();
    const end = performance.now() + GIVE_MS;
    /** Of a line that went in part. The descriptors go with the first byte. */
    let rest = '';
    for (let more = true; more || rest !== ''; ) {
      // Looked at anew after each wait: one that was closed meanwhile may have left its number to something else.
      const missing = rest === '' ? sockets().filter(({ name }) => !given.has(name)) : [];
      const some = missing.slice(0, SOCKETS_PER_MESSAGE);
      const line = rest || socketsLine(version, some, missing.length > some.length);
      try {
        const sent = addon.sendDescriptors(descriptorOf(socket), line, ...some.map(({ fd }) => fd));
        if (rest === '') more = missing.length > some.length;
        for (const { name } of some) given.add(name);
        rest = Buffer.from(line).subarray(sent).toString(); // all of it is ASCII
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // ETOOMANYREFS: as many are on their way as we may have open.
        if ((code !== 'EAGAIN' && code !== 'ETOOMANYREFS') || performance.now() > end) throw error;
        await sleep(FULL_MS);
      }
    }
  }

  #left(socket: Socket): void {
    this.#connections.delete(socket);
    const gone = [this.#starting, this.#late].find((each) => each?.socket === socket);
    if (gone == null || this.#handedOver) return;
    if (gone === this.#late) this.#late = null;
    else {
      this.#starting = null;
      clearTimeout(this.#startTimer);
    }
    this.#deps.onSuccessor({ kind: 'ended', successor: gone.successor });
  }
}

function socketsLine(
  version: string,
  some: readonly { readonly name: string; readonly pinned: boolean }[],
  more: boolean,
): string {
  const sockets = some.map(({ name, pinned }) => ({ name, pinned }));
  return messageLine({ kind: 'sockets', version, sockets, more });
}

function answer(socket: Socket, message: FromPredecessor): void {
  // One that asks and asks, and never reads the answers, shall not have our memory.
  if (socket.writableLength > MOST_LINE_BYTES) socket.destroy();
  else if (socket.writable) socket.write(messageLine(message));
}
