import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionGuard } from './connection-guard.ts';

const PROMPT = 4;
const TURN_MS = 50;
const READ_PER_TURN = 64;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly writableLength = 0;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.emit('close');
  }
}

/** Opens connections of one address. Each is read once, as requests are. */
function openedBy(guard: ConnectionGuard, address: string, count: number): readonly Socket[] {
  return Array.from({ length: count }, () => {
    const socket = new FakeSocket(address) as unknown as Socket;
    guard.opened(socket, () => {});
    return socket;
  });
}

const newGuard = () => new ConnectionGuard({ maxConnections: 1000, onEvicted: () => {} });

test('an address with few connections is read at once, each time', () => {
  const guard = newGuard();
  const [socket] = openedBy(guard, '127.0.0.1', PROMPT);
  const read = vi.fn();
  for (let times = 1; times <= 3; times += 1) {
    guard.reads(socket as Socket, read);
    expect(read).toHaveBeenCalledTimes(times);
  }
});

test('an address with many connections is read in batches, also after its requests', () => {
  const guard = newGuard();
  const sockets = openedBy(guard, '127.1.0.1', 100);
  vi.advanceTimersByTime(2 * TURN_MS);
  const read = vi.fn();
  for (const socket of sockets) guard.reads(socket, read);
  expect(read).not.toHaveBeenCalled();
  vi.advanceTimersByTime(TURN_MS);
  expect(read).toHaveBeenCalledTimes(READ_PER_TURN);
  vi.advanceTimersByTime(TURN_MS);
  expect(read).toHaveBeenCalledTimes(100);
});

test('a connection that always has more to read is read once in a batch', () => {
  const guard = newGuard();
  const sockets = openedBy(guard, '127.1.0.1', 10);
  vi.advanceTimersByTime(TURN_MS);
  const socket = sockets.at(-1) as Socket;
  let reads = 0;
  const readOn = () => {
    reads += 1;
    guard.reads(socket, readOn);
  };
  guard.reads(socket, readOn);
  vi.advanceTimersByTime(5 * TURN_MS);
  expect(reads).toBe(5);
});

test('a connection that closes is read no more', () => {
  const guard = newGuard();
  const sockets = openedBy(guard, '127.1.0.1', 10);
  vi.advanceTimersByTime(TURN_MS);
  const read = vi.fn();
  for (const socket of sockets) guard.reads(socket, read);
  for (const socket of sockets) socket.destroy();
  for (const socket of sockets) guard.reads(socket, read);
  vi.advanceTimersByTime(10 * TURN_MS);
  expect(read).not.toHaveBeenCalled();
});
