// Small TCP servers and clients for tests, with every wait bounded.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Upper bound for expected events: far above the time they need on a busy machine. */
export const WAIT_MS = 60_000;

export interface TestServer {
  readonly server: Server;
  readonly port: number;
  readonly address: string;
  /** Accepted sockets, in order. */
  readonly sockets: Socket[];
  nextSocket(): Promise<Socket>;
  close(): Promise<void>;
}

export async function tcpServer(
  onSocket: (socket: Socket) => void = () => {},
  host = '127.0.0.1',
): Promise<TestServer> {
  const sockets: Socket[] = [];
  const waiting: ((socket: Socket) => void)[] = [];
  let handedOut = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
    onSocket(socket);
    const next = waiting.shift();
    if (next) {
      handedOut += 1;
      next(socket);
    }
  });
  server.listen(0, host);
  await within(WAIT_MS, 'the server to listen', once(server, 'listening'));
  const { port, address } = server.address() as AddressInfo;
  return {
    server,
    port,
    address,
    sockets,
    nextSocket: () => {
      const there = sockets[handedOut];
      if (there !== undefined) {
        handedOut += 1;
        return Promise.resolve(there);
      }
      return within(WAIT_MS, 'a connection at the backend', new Promise((resolve) => waiting.push(resolve)));
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await within(WAIT_MS, 'the close of the server', once(server, 'close'));
    },
  };
}

/** Below the ephemeral ports of the kernel (ip_local_port_range). */
let nextPort = 25_000;

/**
 * A free loopback port, for servers that need a fixed port and for dials that must be refused. The kernel never assigns it: neither to
 * another server nor as a source port. A client that dials its own source port would connect to itself.
 */
export async function freePort(): Promise<number> {
  for (; nextPort < 30_000; nextPort += 1) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(nextPort, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await within(WAIT_MS, 'the close of the probing server', once(server, 'close'));
    nextPort += 1;
    return nextPort - 1;
  }
  throw new Error('no port is free');
}

/** A connected client with allowHalfOpen. It records errors and does not throw them. */
export async function tcpClient(
  port: number,
  host = '127.0.0.1',
  localAddress?: string,
): Promise<Socket & { errors: string[] }> {
  const from = localAddress === undefined ? {} : { localAddress };
  const socket = Object.assign(connect({ port, host, allowHalfOpen: true, ...from }), {
    errors: [] as string[],
  });
  socket.on('error', (error: NodeJS.ErrnoException) => socket.errors.push(error.code ?? error.message));
  await within(WAIT_MS, 'connect', once(socket, 'connect'));
  return socket;
}

/** Why a connection to the port fails; null if the port accepts it. */
export async function connectError(port: number): Promise<string | null> {
  try {
    (await tcpClient(port)).destroy();
    return null;
  } catch (error) {
    return String(error);
  }
}

/** All bytes until FIN (`end`) or until the socket closes in another way (`reset: true` after an error). */
export function readAll(socket: Socket): Promise<{ bytes: Buffer; reset: boolean }> {
  return within(
    WAIT_MS,
    'the end of a stream',
    new Promise((resolve) => {
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.once('end', () => resolve({ bytes: Buffer.concat(chunks), reset: false }));
      socket.once('error', () => resolve({ bytes: Buffer.concat(chunks), reset: true }));
      socket.once('close', () => resolve({ bytes: Buffer.concat(chunks), reset: false }));
      socket.resume();
    }),
  );
}

/** Exactly the next `count` bytes; later bytes stay in the stream. */
export async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  let chunk: Buffer | null = null;
  const arrived = () => {
    chunk = socket.read(count) as Buffer | null;
    return chunk !== null || socket.readableLength === 0;
  };
  for (;;) {
    // With some bytes buffered, `readable` fires again at once and would keep the rest from arriving.
    await until(`${count} bytes`, arrived);
    if (chunk !== null) break;
    await within(WAIT_MS, `${count} bytes`, once(socket, 'readable'));
  }
  const { length } = chunk as Buffer;
  if (length !== count) throw new Error(`stream ended after ${length} of ${count} bytes`);
  return chunk;
}

export async function within<T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${milliseconds} ms for ${what}`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Polls until the condition holds, for states without an event. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  milliseconds = WAIT_MS,
): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${milliseconds} ms until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
