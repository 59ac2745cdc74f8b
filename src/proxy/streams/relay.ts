// Streams bytes in both directions between two connected sockets. It passes back-pressure, half-close and resets of one side
// on to the other. It must never buffer more than the sockets' own limits.
import type { Socket } from 'node:net';
import { descriptorOf } from '../../netns/descriptor.ts';
import type { NativeAddon } from '../../netns/native.ts';

export type RelayEnd = 'finished' | 'client-reset' | 'backend-reset' | 'client-timeout' | 'backend-timeout';

/** Kernel errors for a peer that no longer answers. The last three come from ICMP errors or the neighbour table. */
const DEAD = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH']);

const FLUSH_POLL_MS = 5;
const MIN_UNANSWERED_PROBES = 3;
/** Only after this many bytes are the queues bounded, so short exchanges need no such system calls (native/engine/socket/queue_bounds.h). */
const UNBOUNDED_BYTES = 64 * 1024;

interface Side {
  readonly name: 'client' | 'backend';
  readonly socket: Socket;
  /** The peer's window is closed. TCP_USER_TIMEOUT is switched off then, because the kernel would treat the peer as dead. */
  slow: boolean;
}

export interface RelaySettings {
  readonly addon: NativeAddon;
  readonly deadPeerTimeoutMs: number;
  /** After a reset of one side, the other side has this long to receive the data already sent to it. */
  readonly lingerMs: number;
}

export class Relay {
  readonly bytes = { fromClient: 0, fromBackend: 0 };
  /** Resolves once both sockets are closed. */
  readonly ended: Promise<RelayEnd>;
  readonly #settings: RelaySettings;
  readonly #client: Side;
  readonly #backend: Side;
  #end: RelayEnd = 'finished';

  constructor(client: Socket, backend: Socket, settings: RelaySettings) {
    this.#settings = settings;
    this.#client = { name: 'client', socket: client, slow: false };
    this.#backend = { name: 'backend', socket: backend, slow: false };
    const closed = [client, backend].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    this.ended = Promise.all(closed).then(() => this.#end);
    client.on('error', (error) => this.#broken(this.#client, this.#backend, error));
    backend.on('error', (error) => this.#broken(this.#backend, this.#client, error));
    pump(client, backend, (count) => {
      const before = this.bytes.fromClient;
      this.bytes.fromClient += count;
      if (isBulk(before, this.bytes.fromClient)) this.#boundQueues(client, backend);
    });
    pump(backend, client, (count) => {
      const before = this.bytes.fromBackend;
      this.bytes.fromBackend += count;
      if (isBulk(before, this.bytes.fromBackend)) this.#boundQueues(backend, client);
    });
  }

  /**
   * Polls for two conditions that cause no event. First, a half-closed peer has disconnected: libuv does not watch a socket after its FIN.
   * Second, a peer with a closed window still answers, so it is slow, not dead. `halfClosedOnly` avoids the system calls for other sockets.
   */
  checkPeers(halfClosedOnly: boolean): void {
    for (const [side, other] of [
      [this.#client, this.#backend],
      [this.#backend, this.#client],
    ] as const) {
      const { socket } = side;
      if (socket.destroyed || (halfClosedOnly && !socket.readableEnded)) continue;
      const fd = descriptorOf(socket);
      const state = fd < 0 ? null : this.#settings.addon.tcpState(fd);
      if (state === null) continue;
      if (state.closed && socket.readableEnded) {
        this.#broken(side, other, Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
        socket.destroy();
        continue;
      }
      // The time alone does not prove that the peer is dead: the kernel probes a closed window at growing intervals. One or
      // two unanswered probes do not prove it either: the peer's kernel limits the rate of such answers.
      const silent =
        state.probes >= MIN_UNANSWERED_PROBES && state.lastAckMs >= this.#settings.deadPeerTimeoutMs;
      this.#setSlow(side, fd, state.windowClosed && !silent);
    }
  }

  #boundQueues(from: Socket, to: Socket): void {
    const [source, sink] = [descriptorOf(from), descriptorOf(to)];
    if (source >= 0 && sink >= 0) this.#settings.addon.boundQueues(source, sink);
  }

  #setSlow(side: Side, fd: number, slow: boolean): void {
    const { addon, deadPeerTimeoutMs } = this.#settings;
    if (slow === side.slow || deadPeerTimeoutMs === 0) return;
    side.slow = slow;
    addon.setUserTimeout(fd, slow ? 0 : deadPeerTimeoutMs);
  }

  /** The first failure sets the outcome. A later failure on the other side is only its consequence. */
  #broken(side: Side, other: Side, error: NodeJS.ErrnoException): void {
    if (this.#end === 'finished')
      this.#end = `${side.name}-${DEAD.has(error.code ?? '') ? 'timeout' : 'reset'}`;
    this.#resetOnceFlushed(other.socket, performance.now() + this.#settings.lingerMs);
  }

  /** Resets this side after the data that was already written to it has arrived, or at `latestMs`. A reset discards queued data. */
  #resetOnceFlushed(socket: Socket, latestMs: number): void {
    if (socket.destroyed) return;
    const { addon } = this.#settings;
    const fd = descriptorOf(socket);
    const queued = socket.writableLength + (fd < 0 ? 0 : (addon.tcpState(fd)?.queuedBytes ?? 0));
    if (queued === 0 || performance.now() >= latestMs) {
      reset(addon, socket);
      return;
    }
    socket.pause();
    setTimeout(() => this.#resetOnceFlushed(socket, latestMs), FLUSH_POLL_MS);
  }
}

/** True exactly once: when the count crosses the threshold. */
const isBulk = (before: number, now: number): boolean => before < UNBOUNDED_BYTES && now >= UNBOUNDED_BYTES;

function pump(from: Socket, to: Socket, counted: (bytes: number) => void): void {
  from.on('data', (chunk: Buffer) => {
    counted(chunk.length);
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  // A client may send its hello and FIN together. Its 'end' event then fires before the relay exists.
  if (from.readableEnded) to.end();
  else from.on('end', () => to.end());
  from.resume(); // after an explicit pause(), adding a 'data' listener does not start the flow
}

/**
 * Closes with a reset. resetAndDestroy() does not work here: while end() is in progress, libuv rejects it (EINVAL). Node then
 * neither closes the socket nor reports an error, and the connection would count forever.
 */
export function reset(addon: Pick<NativeAddon, 'setLinger'>, socket: Socket): void {
  const fd = descriptorOf(socket);
  if (fd >= 0 && !socket.connecting) {
    try {
      addon.setLinger(fd, 0);
    } catch {
      // The descriptor, and with it the connection, is already closed.
    }
  }
  socket.destroy();
}
