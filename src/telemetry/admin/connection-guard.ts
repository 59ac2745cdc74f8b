// Keeps the connections of a port within bounds. A full port evicts before it refuses: silent connections, requests that come byte by
// byte and answers that are never read must not keep a kubelet's probe out.
import type { Socket } from 'node:net';
import { sourceOf } from '../../routing/client-source.ts';
import { type Held, surplus } from './connection-surplus.ts';

/** Of the limit, for requests that are being answered; the rest is for connections that wait. */
const MAX_ANSWERED = 64;
const MAX_ANSWERED_SHARE = 1 / 4;
/** Of answers that clients have not read. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** For a request to arrive, for its answer to be made and taken, and for the client to close. */
const STEP_MS = 10_000;
/** Beyond the limit, for a moment: the kernel hands over what has queued up all at once. */
const SLACK = 64;
/**
 * An address that holds more than this is read in turns. Its connections come back as soon as they end: read at once, a thousand of
 * them kept the event loop busy for so long that a probe waited a second on a loaded machine.
 */
const MAX_PROMPT = 4;
const TURN_MS = 50;
const READ_PER_TURN = 64;

export interface ConnectionGuardOptions {
  readonly maxConnections: number;
  /** Hears the address of each connection that was evicted. */
  readonly onEvicted: (sources: readonly string[]) => void;
}

interface Connection {
  readonly socket: Socket;
  readonly source: string;
  readonly deadline: NodeJS.Timeout;
  /** Begins to read its request. */
  readonly read: () => void;
  isAnswered: boolean;
}

export class ConnectionGuard {
  readonly #onEvicted: ConnectionGuardOptions['onEvicted'];
  readonly #maxConnections: number;
  readonly #maxAnswered: number;
  /** In the order in which they began to wait, or to be answered. */
  readonly #connections = new Map<Socket, Connection>();
  readonly #perSource = new Map<string, number>();
  /** Not read yet, the oldest first. */
  readonly #unread = new Set<Connection>();
  #turn: NodeJS.Timeout | null = null;
  #trimming = false;

  constructor({ maxConnections, onEvicted }: ConnectionGuardOptions) {
    this.#maxConnections = maxConnections;
    this.#maxAnswered = Math.min(MAX_ANSWERED, Math.ceil(maxConnections * MAX_ANSWERED_SHARE));
    this.#onEvicted = onEvicted;
  }

  /** `read` begins to read its request: at once, or when it is the turn of its address. */
  opened(socket: Socket, read: () => void): void {
    const deadline = setTimeout(() => socket.destroy(), STEP_MS).unref();
    const source = sourceOf(socket.remoteAddress);
    const connection: Connection = { socket, source, deadline, read, isAnswered: false };
    const held = (this.#perSource.get(source) ?? 0) + 1;
    this.#perSource.set(source, held);
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#closed(connection));
    if (held <= MAX_PROMPT) read();
    else {
      this.#unread.add(connection);
      this.#turn ??= setTimeout(() => this.#readSome(), TURN_MS);
    }
    if (this.#connections.size > this.#maxConnections + SLACK) this.#trim();
    else this.#trimSoon();
  }

  /** The answer of the connection is being made or sent from now on, or no longer. */
  answers(socket: Socket, isAnswered: boolean): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.isAnswered = isAnswered;
    connection.deadline.refresh();
    this.#connections.delete(socket);
    this.#connections.set(socket, connection);
    this.#trimSoon();
  }

  closeAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #readSome(): void {
    this.#turn = null;
    for (const connection of [...this.#unread].slice(0, READ_PER_TURN)) {
      this.#unread.delete(connection);
      connection.read();
    }
    if (this.#unread.size > 0) this.#turn = setTimeout(() => this.#readSome(), TURN_MS);
  }

  #closed(connection: Connection): void {
    const { socket, source, deadline } = connection;
    clearTimeout(deadline);
    this.#connections.delete(socket);
    this.#unread.delete(connection);
    const left = (this.#perSource.get(source) ?? 1) - 1;
    if (left === 0) this.#perSource.delete(source);
    else this.#perSource.set(source, left);
  }

  /** Not before the event loop has looked once at what was just accepted: a request that is there already is answered first. */
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
  connections: readonly Connection[],
  limit: number,
  weight: (connection: Connection) => number,
): readonly Connection[] {
  const held = connections.map((connection): Held & { readonly connection: Connection } => ({
    ...{ source: connection.source, weight: weight(connection), connection },
  }));
  return surplus(held, limit).map(({ connection }) => connection);
}
