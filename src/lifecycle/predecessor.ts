// The successor's side of a handover: asks the predecessor for its listening sockets, and reports when this process serves on them.
// The predecessor serves until then. If it dies earlier, clients wait in the accept queues of the sockets that this process holds.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { descriptorOf } from '../netns/descriptor.ts';
import type { NativeAddon } from '../netns/native.ts';
import { HandoverError, meetingPath } from './handover-directory.ts';
import { fromPredecessor, messageLine, readLines } from './handover-messages.ts';
import type { HandedSocket } from './inherited-sockets.ts';
import { type ReceivedSockets, receiveSockets, refusedError } from './socket-transfer.ts';

export interface PredecessorOptions {
  readonly directory: string;
  readonly addon: NativeAddon;
  readonly uid: number;
  readonly version: string;
  /** What this process tells about itself, besides its version; see `SuccessorClaim`. */
  readonly daemonSet: string | null;
  readonly takeOver: boolean;
  /** Time limit for the predecessor to send its sockets, and later to release them. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 10_000;

export class Predecessor {
  readonly pid: number;
  readonly version: string;
  readonly processId: string | null;
  readonly sockets: readonly HandedSocket[];
  readonly #socket: Socket;
  readonly #released = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #dismissed = Promise.withResolvers<never>();
  readonly #deadlineMs: number;
  #isDismissed = false;

  private constructor(socket: Socket, pid: number, given: ReceivedSockets, deadlineMs: number) {
    this.#socket = socket;
    this.pid = pid;
    this.version = given.version;
    this.processId = given.processId;
    this.sockets = given.sockets;
    this.#deadlineMs = deadlineMs;
    socket.once('close', () => {
      if (!this.#isDismissed) this.#gone.resolve();
      this.#released.resolve(); // it accepts nothing more
    });
    this.#dismissed.promise.catch(() => {}); // prevents an unhandled rejection; waiting callers still get the error
    const heard = (line: string) => {
      const message = fromPredecessor(line);
      if (message?.kind === 'released') this.#released.resolve();
      // The predecessor gave this process up and continues. Two processes must never serve and publish at the same time.
      if (message?.kind !== 'refused') return;
      this.#isDismissed = true;
      this.#dismissed.reject(refusedError(message.reason));
    };
    readLines(socket, heard, given.rest);
    socket.resume();
  }

  /**
   * Rejects with a HandoverError if this process took too long: the predecessor continues, and another successor may already have
   * its sockets. Never resolves.
   */
  get dismissed(): Promise<never> {
    return this.#dismissed.promise;
  }

  /** Resolves when the predecessor has ended. From then on only this process can serve its clients. Never resolves after `dismissed`. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** null if there is no predecessor. Throws a HandoverError if there is one and it does not hand over. */
  static async ask(options: PredecessorOptions): Promise<Predecessor | null> {
    const { directory, addon, uid, version, deadlineMs = DEADLINE_MS } = options;
    const { daemonSet, takeOver } = options;
    const socket = await connected(meetingPath(directory));
    if (socket === null) return null;
    try {
      const peer = addon.peerOf(descriptorOf(socket));
      if (peer.uid !== uid && peer.uid !== 0)
        throw new HandoverError(
          `${meetingPath(directory)} belongs to a process of another user (${peer.uid})`,
        );
      const pod = { ...(daemonSet !== null && { daemonSet }), ...(takeOver && { takeOver }) };
      socket.write(messageLine({ kind: 'take', version, ...pod }));
      const given = await receiveSockets(socket, addon, deadlineMs);
      if (given !== null) return new Predecessor(socket, peer.pid, given, deadlineMs);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    socket.destroy();
    return null;
  }

  /** Reports that this process serves. Resolves when the predecessor released, ended, or exceeded its time. Rejects as `dismissed` does. */
  async serving(): Promise<void> {
    if (this.#socket.writable) this.#socket.write(messageLine({ kind: 'serving' }));
    try {
      await Promise.race([
        this.dismissed,
        this.#released.promise,
        sleep(this.#deadlineMs, undefined, { ref: false }),
      ]);
    } finally {
      this.#socket.destroy();
    }
  }
}

/** Returns the socket paused: the kernel delivers descriptors with the bytes, so Node must not read them. */
function connected(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path).pause();
    socket.once('connect', () => {
      socket.off('error', failed);
      socket.on('error', () => {}); // `close` follows and is handled
      resolve(socket);
    });
    const failed = ({ code, message }: NodeJS.ErrnoException) => {
      // ECONNREFUSED: a process ended without removing its socket.
      if (code === 'ENOENT' || code === 'ECONNREFUSED') resolve(null);
      else reject(new HandoverError(message));
    };
    socket.once('error', failed);
  });
}
