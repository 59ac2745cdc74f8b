// The predecessor's side of a handover: sends the listening sockets to the successor, and releases them when the successor serves.
// A successor that exits or hangs before that changes nothing. Access control: the directory's mode, then the peer's uid from the
// kernel.
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

/** `starts`: it has our sockets. `late`: its time limit expired, and another successor may try. `ended`: it ended before it served. */
export interface SuccessorChange {
  readonly kind: 'starts' | 'late' | 'ended';
  readonly successor: Successor;
}

export interface HandoverServerOptions {
  readonly directory: string;
  readonly addon: Pick<NativeAddon, 'sendDescriptors' | 'peerOf'>;
  readonly uid: number;
  readonly version: string;
  /** All sockets that listen now. */
  readonly sockets: () => readonly { readonly name: string; readonly fd: number; readonly pinned: boolean }[];
  /** The successor serves: stop accepting. The successor gets `released` when this promise resolves. */
  readonly release: (successor: Successor) => Promise<void>;
  /** `isthmus reload` asks this process to start a successor. */
  readonly upgrade: (environment: Readonly<Record<string, string>> | null) => Promise<UpgradeOutcome>;
  /** Time limit for a successor between getting our sockets and serving. */
  readonly startLimitMs: number;
  readonly onSuccessor: (change: SuccessorChange) => void;
  readonly onStranger: (pid: number, uid: number) => void;
}

/** The kernel's limit for one message is 253 (SCM_MAX_FD). */
const SOCKETS_PER_MESSAGE = 100;
const MOST_CONNECTIONS = 16;
/** Time limit for sending all sockets. The successor reads every few milliseconds. */
const GIVE_MS = 10_000;
const FULL_MS = 2;

interface SuccessorCandidate {
  readonly successor: Successor;
  readonly socket: Socket;
}

export class HandoverServer {
  readonly #deps: HandoverServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  #starting: SuccessorCandidate | null = null;
  #startTimer: NodeJS.Timeout | undefined;
  #late: SuccessorCandidate | null = null;
  #givingTo: Socket | null = null;
  #handedOver = false;
  #isOpen = false;

  constructor(deps: HandoverServerOptions) {
    this.#deps = deps;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Publishes our socket at the meeting path. It replaces the predecessor's socket. */
  async open(): Promise<void> {
    const path = meetingPath(this.#deps.directory);
    // Bind a temporary name, then rename: the path never lacks a listener. Node unlinks only the name that it bound, so closing
    // this server later cannot remove a successor's socket.
    const ours = `${path}.${randomBytes(4).toString('hex')}`;
    try {
      this.#server.listen(ours);
      await once(this.#server, 'listening');
    } catch (error) {
      throw new HandoverError(`--handover ${this.#deps.directory}: ${(error as Error).message}`, {
        cause: error,
      });
    }
    this.#server.on('error', () => {}); // one accept failed; the next can succeed
    chmodSync(ours, 0o600);
    renameSync(ours, path);
    this.#isOpen = true;
  }

  /** The successor that has our sockets and does not serve yet. */
  get starting(): Successor | null {
    return this.#starting?.successor ?? null;
  }

  /** The successor that exceeded its time limit and is still connected. */
  get late(): Successor | null {
    return this.#late?.successor ?? null;
  }

  /** Stops listening, and closes open connections unless the handover is complete. */
  close(): void {
    clearTimeout(this.#startTimer);
    this.#server.close();
    // The successor still has to read `released`, and the path now holds its own socket.
    if (this.#handedOver) return;
    for (const socket of this.#connections) socket.destroy();
    if (this.#isOpen) rmSync(meetingPath(this.#deps.directory), { force: true });
    this.#isOpen = false;
  }

  #accept(socket: Socket): void {
    const { addon, uid, onStranger } = this.#deps;
    socket.on('error', () => {}); // `close` follows
    const fd = descriptorOf(socket);
    if (fd < 0) return; // the peer has disconnected
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
      socket.destroy(); // the successor ended, or does not read
      return;
    } finally {
      this.#givingTo = null;
    }
    this.#starting = { successor, socket };
    this.#startTimer = setTimeout(() => this.#giveUp(), startLimitMs).unref();
    onSuccessor({ kind: 'starts', successor });
  }

  /** A successor that hangs must not block the next one. It gets `refused` and ends, if it still reads. */
  #giveUp(): void {
    const { onSuccessor, startLimitMs } = this.#deps;
    const starting = this.#starting;
    if (starting === null || this.#handedOver) return;
    this.#starting = null;
    this.#late?.socket.destroy(); // only the most recent late successor is tracked
    this.#late = starting;
    const seconds = startLimitMs / 1000;
    const reason = `a successor must serve within ${seconds} s, and this one is too late`;
    answer(starting.socket, { kind: 'refused', reason });
    starting.socket.end();
    onSuccessor({ kind: 'late', successor: starting.successor });
  }

  /**
   * Writes directly to the descriptor; Node has nothing queued on this socket yet. A few hundred descriptors fill the kernel's
   * buffer, so the loop waits until the successor reads some.
   */
  async #giveAll(socket: Socket): Promise<void> {
    const { addon, version, sockets } = this.#deps;
    const given = new Set<string>();
    const end = performance.now() + GIVE_MS;
    /** The unsent end of a partly sent line. Its descriptors went with the first byte. */
    let rest = '';
    for (let more = true; more || rest !== ''; ) {
      // Read the sockets again after each wait: a socket can close, and the kernel can reuse its descriptor number.
      const missing = rest === '' ? sockets().filter(({ name }) => !given.has(name)) : [];
      const some = missing.slice(0, SOCKETS_PER_MESSAGE);
      const line = rest || socketsLine(version, some, missing.length > some.length);
      try {
        const sent = addon.sendDescriptors(descriptorOf(socket), line, ...some.map(({ fd }) => fd));
        if (rest === '') more = missing.length > some.length;
        for (const { name } of some) given.add(name);
        rest = Buffer.from(line).subarray(sent).toString(); // the line is ASCII
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // ETOOMANYREFS: the descriptors in flight reached this process's limit of open files.
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
  // A peer that keeps asking and never reads the answers must not fill our memory.
  if (socket.writableLength > MOST_LINE_BYTES) socket.destroy();
  else if (socket.writable) socket.write(messageLine(message));
}
