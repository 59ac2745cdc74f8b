// Limits the connections of a port. A full port evicts old connections and still accepts new ones. So a kubelet's probe is never blocked by
// silent clients, by requests sent byte by byte, or by answers that are never read.
import type { Socket } from 'node:net';
import { sourceOf } from '../../routing/addresses.ts';
import { type Held, surplus } from './connection-surplus.ts';

/** The part of the limit for connections that are being answered. The rest is for connections that wait. */
const MAX_ANSWERED = 64;
const MAX_ANSWERED_SHARE = 1 / 4;
/** The total of answers that clients have not read yet. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** The deadline of each step: the request arrives; the answer is made and read; the client closes. */
const STEP_MS = 10_000;
/** Allowed above the limit for a moment: the kernel delivers all queued connections at once. */
const SLACK = 64;
/**
 * After this many connections, further ones of the same address are read in batches. A client can reconnect as soon as a connection
 * ends. On a loaded machine, a thousand such connections that were read at once made a probe wait a second. The same happened when only
 * requests were read in batches, and the bytes after them at once.
 */
const MAX_PROMPT = 4;
const TURN_MS = 50;
const READ_PER_TURN = 64;

export interface ConnectionGuardOptions {
  readonly maxConnections: number;
  /** Receives the source address of each evicted connection. */
  readonly onEvicted: (sources: readonly string[]) => void;
}

interface AdminConnection {
  readonly socket: Socket;
  readonly source: string;
  readonly deadline: NodeJS.Timeout;
  /** Starts or continues reading. */
  read: () => void;
  isAnswered: boolean;
}

export class ConnectionGuard {
  readonly #onEvicted: ConnectionGuardOptions['onEvicted'];
  readonly #maxConnections: number;
  readonly #maxAnswered: number;
  /** In the order in which they entered their current step: waiting or being answered. */
  readonly #connections = new Map<Socket, AdminConnection>();
  readonly #perSource = new Map<string, number>();
  /** Connections that wait to be read, in the order in which they began to wait. */
  readonly #unread = new Set<AdminConnection>();
  #turn: NodeJS.Timeout | null = null;
  #trimming = false;

  constructor({ maxConnections, onEvicted }: ConnectionGuardOptions) {
    this.#maxConnections = maxConnections;
    this.#maxAnswered = Math.min(MAX_ANSWERED, Math.ceil(maxConnections * MAX_ANSWERED_SHARE));
    this.#onEvicted = onEvicted;
  }

  /** `read` starts reading the request: immediately, or in a later batch if the address already holds several connections. */
  opened(socket: Socket, read: () => void): void {
    const deadline = setTimeout(() => socket.destroy(), STEP_MS).unref();
    const source = sourceOf(socket.remoteAddress);
    const connection: AdminConnection = { socket, source, deadline, read, isAnswered: false };
    this.#perSource.set(source, (this.#perSource.get(source) ?? 0) + 1);
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#closed(connection));
    this.#read(connection);
    if (this.#connections.size > this.#maxConnections + SLACK) this.#trim();
    else this.#trimSoon();
  }

  /** Marks the start (`true`) or the end (`false`) of making and sending the answer. */
  answers(socket: Socket, isAnswered: boolean): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.isAnswered = isAnswered;
    connection.deadline.refresh();
    this.#connections.delete(socket);
    this.#connections.set(socket, connection);
    this.#trimSoon();
  }

  /** As the `read` of `opened`, for bytes after the request. */
  reads(socket: Socket, read: () => void): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.read = read;
    this.#read(connection);
  }

  closeAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #read(connection: AdminConnection): void {
    if ((this.#perSource.get(connection.source) ?? 0) <= MAX_PROMPT) connection.read();
    else {
      this.#unread.add(connection);
      this.#turn ??= setTimeout(() => this.#readSome(), TURN_MS);
    }
  }

  #readSome(): void {
    this.#turn = null;
    for (const connection of [...this.#unread].slice(0, READ_PER_TURN)) {
      this.#unread.delete(connection);
      connection.read();
    }
    if (this.#unread.size > 0) this.#turn ??= setTimeout(() => this.#readSome(), TURN_MS);
  }

  #closed(connection: AdminConnection): void {
    const { socket, source, deadline } = connection;
    clearTimeout(deadline);
    this.#connections.delete(socket);
    this.#unread.delete(connection);
    const left = (this.#perSource.get(source) ?? 1) - 1;
    if (left === 0) this.#perSource.delete(source);
    else this.#perSource.set(source, left);
  }

  /** Trims after one full pass of the event loop: a request that has already arrived is read first. */
  #trimSoon(): void {
    if (this.#trimming || this.#connections.size <= this.#maxAnswered) return;
    this.#trimming = true;
    setImmediate(() =>
      setImmediate(() => {
        this.#trimming = false;
        this.#trim();
      }),
    );
  }

  #trim(): void {
    const all = [...this.#connections.values()];
    const answered = all.filter(({ isAnswered }) => isAnswered);
    const waiting = all.filter(({ isAnswered }) => !isAnswered);
    const evicted = new Set([
      ...chosen(waiting, this.#maxConnections - this.#maxAnswered, () => 1),
      ...chosen(answered, this.#maxAnswered, () => 1),
      ...chosen(answered, MAX_QUEUED_BYTES, ({ socket }) => socket.writableLength),
    ]);
    if (evicted.size === 0) return;
    for (const connection of evicted) {
      this.#connections.delete(connection.socket);
      this.#unread.delete(connection);
      connection.socket.destroy();
    }
    this.#onEvicted([...evicted].map(({ source }) => source));
  }
}

function chosen(
  connections: readonly AdminConnection[],
  limit: number,
  weight: (connection: AdminConnection) => number,
): readonly AdminConnection[] {
  const held = connections.map((connection): Held & { readonly connection: AdminConnection } => ({
    ...{ source: connection.source, weight: weight(connection), connection },
  }));
  return surplus(held, limit).map(({ connection }) => connection);
}
