// The predecessor's side of a handover: sends the listening sockets to the successor, and releases them when the successor serves.
// A successor that exits or hangs before that changes nothing. Access control: the directory's mode, then the peer's uid from the
// kernel.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { descriptorOf } from '../netns/descriptor.ts';
import type { NativeAddon } from '../netns/native.ts';
import { HandoverError, meetingPath } from './handover-directory.ts';
import {
  type FromPredecessor,
  MOST_LINE_BYTES,
  messageLine,
  readLines,
  type ToPredecessor,
  toPredecessor,
} from './handover-messages.ts';
import { type SendSocketsOptions, sendSockets } from './socket-transfer.ts';
import type { SuccessorClaim } from './successor-refusal.ts';

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

export interface HandoverServerOptions extends SendSocketsOptions {
  readonly directory: string;
  readonly addon: Pick<NativeAddon, 'sendDescriptors' | 'peerOf'>;
  readonly uid: number;
  /** Why this process must not have the sockets; null: it may. */
  readonly refusal: (claim: SuccessorClaim & Successor) => string | null;
  /** The successor serves: stop accepting. The successor gets `released` when this promise resolves. */
  readonly release: (successor: Successor) => Promise<void>;
  /** `isthmus reload` asks this process to start a successor. */
  readonly upgrade: (environment: Readonly<Record<string, string>> | null) => Promise<UpgradeOutcome>;
  /** Time limit for a successor between getting our sockets and serving. */
  readonly startLimitMs: number;
  readonly onSuccessor: (change: SuccessorChange) => void;
  readonly onRejectedPeer: (pid: number, uid: number) => void;
}

const MOST_CONNECTIONS = 16;

interface SuccessorCandidate {
  readonly successor: Successor;
  readonly socket: Socket;
}

/**
 * `serving`: there is no successor. `sending`: a successor is getting our sockets. `starting`: it has them and does not serve yet.
 * `handed-over`: it serves. A successor that ends or is late leads back to `serving`.
 */
type Phase =
  | { readonly kind: 'serving' | 'sending' | 'handed-over' }
  | ({ readonly kind: 'starting'; readonly timer: NodeJS.Timeout } & SuccessorCandidate);

export class HandoverServer {
  readonly #options: HandoverServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  #phase: Phase = { kind: 'serving' };
  #late: SuccessorCandidate | null = null;
  #isOpen = false;

  constructor(options: HandoverServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Publishes our socket at the meeting path. It replaces the predecessor's socket. */
  async open(): Promise<void> {
    const path = meetingPath(this.#options.directory);
    // Bind a temporary name, then rename: the path never lacks a listener. Node unlinks only the name that it bound, so closing
    // this server later cannot remove a successor's socket.
    const ours = `${path}.${randomBytes(4).toString('hex')}`;
    try {
      this.#server.listen(ours);
      await once(this.#server, 'listening');
    } catch (error) {
      throw new HandoverError(`--handover ${this.#options.directory}: ${(error as Error).message}`, {
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
    return this.#phase.kind === 'starting' ? this.#phase.successor : null;
  }

  /** The successor that exceeded its time limit and is still connected. */
  get late(): Successor | null {
    return this.#late?.successor ?? null;
  }

  /** Stops listening, and closes open connections unless the handover is complete. */
  close(): void {
    if (this.#phase.kind === 'starting') clearTimeout(this.#phase.timer);
    this.#server.close();
    // The successor still has to read `released`, and the path now holds its own socket.
    if (this.#phase.kind === 'handed-over') return;
    for (const socket of this.#connections) socket.destroy();
    if (this.#isOpen) rmSync(meetingPath(this.#options.directory), { force: true });
    this.#isOpen = false;
  }

  #accept(socket: Socket): void {
    const { addon, uid, onRejectedPeer } = this.#options;
    socket.on('error', () => {}); // `close` follows
    const fd = descriptorOf(socket);
    if (fd < 0) return; // the peer has disconnected
    const peer = addon.peerOf(fd);
    if (peer.uid !== uid && peer.uid !== 0) {
      onRejectedPeer(peer.pid, peer.uid);
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
    switch (message.kind) {
      case 'take':
        return this.#send(socket, { daemonSet: null, takeOver: false, ...message, pid });
      case 'serving':
        return this.#handOver(socket);
      case 'upgrade':
        answer(socket, await this.#options.upgrade(message.environment));
        socket.end();
    }
  }

  /** serving → sending → starting */
  async #send(socket: Socket, claim: SuccessorClaim & Successor): Promise<void> {
    const { onSuccessor, startLimitMs, refusal } = this.#options;
    const reason = refusal(claim);
    if (reason !== null) {
      answer(socket, { kind: 'refused', reason });
      return;
    }
    if (this.#phase.kind !== 'serving') {
      answer(socket, { kind: 'refused', reason: 'another successor was faster' });
      return;
    }
    this.#phase = { kind: 'sending' };
    try {
      await sendSockets(socket, this.#options);
    } catch {
      this.#phase = { kind: 'serving' };
      socket.destroy(); // the successor ended, or does not read
      return;
    }
    const successor = { pid: claim.pid, version: claim.version };
    const timer = setTimeout(() => this.#dismiss(socket), startLimitMs).unref();
    this.#phase = { kind: 'starting', successor, socket, timer };
    onSuccessor({ kind: 'starts', successor });
  }

  /** starting → handed-over */
  async #handOver(socket: Socket): Promise<void> {
    const starting = this.#phase;
    if (starting.kind !== 'starting' || starting.socket !== socket) return;
    clearTimeout(starting.timer);
    this.#phase = { kind: 'handed-over' };
    await this.#options.release(starting.successor);
    answer(socket, { kind: 'released' });
  }

  /** starting → serving. A successor that hangs must not block the next one. It gets `refused` and ends, if it still reads. */
  #dismiss(socket: Socket): void {
    const { onSuccessor, startLimitMs } = this.#options;
    const starting = this.#phase;
    if (starting.kind !== 'starting' || starting.socket !== socket) return;
    this.#phase = { kind: 'serving' };
    this.#late?.socket.destroy(); // only the most recent late successor is tracked
    this.#late = starting;
    const seconds = startLimitMs / 1000;
    const reason = `a successor must serve within ${seconds} s, and this one is too late`;
    answer(socket, { kind: 'refused', reason });
    socket.end();
    onSuccessor({ kind: 'late', successor: starting.successor });
  }

  /** starting → serving, or the end of a late successor. */
  #left(socket: Socket): void {
    this.#connections.delete(socket);
    const { onSuccessor } = this.#options;
    const phase = this.#phase;
    if (phase.kind === 'handed-over') return;
    if (phase.kind === 'starting' && phase.socket === socket) {
      clearTimeout(phase.timer);
      this.#phase = { kind: 'serving' };
      onSuccessor({ kind: 'ended', successor: phase.successor });
    } else if (this.#late?.socket === socket) {
      const { successor } = this.#late;
      this.#late = null;
      onSuccessor({ kind: 'ended', successor });
    }
  }
}

function answer(socket: Socket, message: FromPredecessor): void {
  // A peer that keeps asking and never reads the answers must not fill our memory.
  if (socket.writableLength > MOST_LINE_BYTES) socket.destroy();
  else if (socket.writable) socket.write(messageLine(message));
}
