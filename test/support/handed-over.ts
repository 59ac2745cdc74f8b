// Descriptors of this process as another process would receive them: sent to itself over a unix socket.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import { native } from '../../src/netns/native.ts';
import { until, WAIT_MS, within } from './tcp.ts';

export interface UnixPair {
  readonly receiver: Socket;
  readonly sender: Socket;
  close(): void;
}

/** The two ends of one connection. No code reads from the receiver in the background. */
export async function unixPair(): Promise<UnixPair> {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-unix-'));
  const server = createServer({ pauseOnConnect: true }).listen(join(directory, 'pair.sock'));
  await within(WAIT_MS, 'the unix socket to listen', once(server, 'listening'));
  const receiver = connect(join(directory, 'pair.sock')).pause();
  const [sender] = (await within(WAIT_MS, 'the sending end of the pair', once(server, 'connection'))) as [
    Socket,
  ];
  if (receiver.connecting) await within(WAIT_MS, 'the receiving end of the pair', once(receiver, 'connect'));
  for (const end of [receiver, sender]) end.on('error', () => {});
  server.close();
  return {
    receiver,
    sender,
    close: () => {
      receiver.destroy();
      sender.destroy();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** New descriptors for the same open sockets. */
export async function handedOver(...descriptors: readonly number[]): Promise<readonly number[]> {
  const pair = await unixPair();
  try {
    native.sendDescriptors(descriptorOf(pair.sender), 'x', ...descriptors);
    let received: ReturnType<typeof native.receiveDescriptors> = null;
    await until('they have arrived', () => {
      received = native.receiveDescriptors(descriptorOf(pair.receiver));
      return received !== null;
    });
    return (received as unknown as { descriptors: readonly number[] }).descriptors;
  } finally {
    pair.close();
  }
}
