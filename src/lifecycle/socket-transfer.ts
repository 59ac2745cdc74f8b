// Both ends of the transfer of listening sockets over a unix socket. Each line announces a batch of sockets, and the kernel delivers
// their descriptors with its first byte.
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { descriptorOf } from '../netns/descriptor.ts';
import type { NativeAddon } from '../netns/native.ts';
import { HandoverError } from './handover-directory.ts';
import { type FromPredecessor, fromPredecessor, MOST_LINE_BYTES, messageLine } from './handover-messages.ts';
import type { HandedSocket } from './inherited-sockets.ts';

export interface SentSocket {
  readonly name: string;
  readonly fd: number;
  readonly pinned: boolean;
}

export interface SendSocketsOptions {
  readonly addon: Pick<NativeAddon, 'sendDescriptors'>;
  readonly version: string;
  readonly processId: string;
  /** All sockets that listen now. */
  readonly sockets: () => readonly SentSocket[];
}

export interface ReceivedSockets {
  readonly version: string;
  /** The sender in the Lease of its node; null: its release does not send it. */
  readonly processId: string | null;
  readonly sockets: readonly HandedSocket[];
  /** Text that arrived after the sockets. */
  readonly rest: string;
}

/** The kernel's limit for one message is 253 (SCM_MAX_FD). */
const SOCKETS_PER_MESSAGE = 100;
/** Time limit for sending all sockets. The successor reads every few milliseconds. */
const SEND_LIMIT_MS = 10_000;
/** Pause while the kernel's buffer is full (sender) or empty (receiver). */
const PAUSE_MS = 2;
/** The number of ports. A larger number is invalid. */
const MOST_SOCKETS = 65_536;

/**
 * Writes directly to the descriptor; Node has nothing queued on this socket yet. A few hundred descriptors fill the kernel's buffer,
 * so the loop waits until the successor reads some. Throws if the successor ends or does not read.
 */
export async function sendSockets(socket: Socket, options: SendSocketsOptions): Promise<void> {
  const { addon, version, processId, sockets } = options;
  const endMs = performance.now() + SEND_LIMIT_MS;
  /** Returns the number of bytes that the kernel took; 0 while its buffer is full. */
  const trySend = (text: string, fds: readonly number[]): number => {
    try {
      return addon.sendDescriptors(descriptorOf(socket), text, ...fds);
    } catch (error) {
      if (!isFull(error) || performance.now() > endMs) throw error;
      return 0;
    }
  };
  const sent = new Set<string>();
  for (;;) {
    // Read the sockets again after each wait: a socket can close, and the kernel can reuse its descriptor number.
    const missing = sockets().filter(({ name }) => !sent.has(name));
    const batch = missing.slice(0, SOCKETS_PER_MESSAGE);
    const more = missing.length > batch.length;
    const announced = batch.map(({ name, pinned }) => ({ name, pinned }));
    const line = messageLine({ kind: 'sockets', version, process: processId, sockets: announced, more });
    const bytes = trySend(
      line,
      batch.map(({ fd }) => fd),
    );
    if (bytes === 0) {
      await sleep(PAUSE_MS);
      continue;
    }
    for (const { name } of batch) sent.add(name);
    for (let rest = tail(line, bytes); rest !== ''; ) {
      const taken = trySend(rest, []);
      if (taken === 0) await sleep(PAUSE_MS);
      rest = tail(rest, taken);
    }
    if (!more) return;
  }
}

/** The text after its first bytes. Lines are ASCII, so no character is cut. */
const tail = (text: string, bytes: number): string => Buffer.from(text).subarray(bytes).toString();

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  // ETOOMANYREFS: the descriptors in flight reached this process's limit of open files.
  return code === 'EAGAIN' || code === 'ETOOMANYREFS';
}

/** Reads from a paused socket. Returns null if the predecessor ended before it sent all its sockets. */
export async function receiveSockets(
  socket: Socket,
  addon: Pick<NativeAddon, 'receiveDescriptors' | 'adoptListening'>,
  deadlineMs: number,
): Promise<ReceivedSockets | null> {
  const incoming: Incoming = { text: '', descriptors: [] };
  const receive = () => addon.receiveDescriptors(descriptorOf(socket));
  const endMs = performance.now() + deadlineMs;
  const announced: { readonly name: string; readonly pinned: boolean }[] = [];
  try {
    for (;;) {
      const line = await nextLine(incoming, receive, endMs);
      if (line === null) {
        for (const fd of incoming.descriptors) closeSync(fd);
        return null;
      }
      const message = socketsMessage(line);
      announced.push(...message.sockets);
      if (announced.length > MOST_SOCKETS) throw endlessError();
      if (message.more) continue;
      const { descriptors, text: rest } = incoming;
      if (announced.length !== descriptors.length)
        throw new HandoverError(`${announced.length} sockets were announced, ${descriptors.length} arrived`);
      const sockets = descriptors.map((fd, i) => ({
        ...(announced[i] as (typeof announced)[number]),
        fd,
        ...addon.adoptListening(fd),
      }));
      return { version: message.version, processId: message.process ?? null, sockets, rest };
    }
  } catch (error) {
    for (const fd of incoming.descriptors) closeSync(fd);
    throw error;
  }
}

interface Incoming {
  text: string;
  readonly descriptors: number[];
}

/** Takes the next line from `incoming`, and receives more when it has none. Returns null if the peer ended. */
async function nextLine(
  incoming: Incoming,
  receive: () => ReturnType<NativeAddon['receiveDescriptors']>,
  endMs: number,
): Promise<string | null> {
  for (;;) {
    // Checked on every pass: a predecessor that sends without end must not block the start.
    if (performance.now() > endMs) throw new HandoverError('the process that serves here does not answer');
    const end = incoming.text.indexOf('\n');
    if (end >= 0) {
      const line = incoming.text.slice(0, end);
      incoming.text = incoming.text.slice(end + 1);
      return line;
    }
    if (incoming.text.length > MOST_LINE_BYTES || incoming.descriptors.length > MOST_SOCKETS)
      throw endlessError();
    const received = receive();
    if (received === null) {
      await sleep(PAUSE_MS);
      continue;
    }
    incoming.descriptors.push(...received.descriptors);
    if (received.bytes.length === 0) return null;
    incoming.text += received.bytes.toString();
  }
}

function socketsMessage(line: string): Extract<FromPredecessor, { kind: 'sockets' }> {
  const message = fromPredecessor(line);
  if (message?.kind === 'sockets') return message;
  if (message?.kind === 'refused') throw refusedError(message.reason);
  throw new HandoverError('the process that serves here sent an invalid message');
}

export function refusedError(reason: string): HandoverError {
  return new HandoverError(`the process that serves here: ${reason}`);
}

const endlessError = () => new HandoverError('the process that serves here has no end');
