// A plain connection whose reader stalls, beside the engine. The kernel ends it after TCP_USER_TIMEOUT, although its peer is alive. So it
// marks the moment at which an engine that leaves this timeout on a stalled connection has lost that connection too.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import { native } from '../../src/netns/native.ts';
import { WAIT_MS, within } from './tcp.ts';

/** More than the kernel buffers of both ends hold. */
const BYTES = 32 << 20;
/** Added to the timeout of the pair: a connection through an engine may stall that much later. */
export const STALLS_WITHIN_MS = 400;

/** Resolves with the error of the sender once the kernel has ended the connection. */
export async function endOfStalledPair(userTimeoutMs: number): Promise<string> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await within(WAIT_MS, 'the server of a stalled pair', once(server, 'listening'));
  const { port } = server.address() as { port: number };
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const sender = connect(port, '127.0.0.1');
  try {
    const [reader] = await within(WAIT_MS, 'the reader of a stalled pair', accepted);
    reader.on('error', () => {});
    try {
      native.setUserTimeout(descriptorOf(sender), userTimeoutMs);
      const ended = new Promise<string>((resolve) => {
        sender.on('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code));
      });
      sender.write(Buffer.alloc(BYTES));
      return await within(WAIT_MS, 'the kernel to end a stalled pair', ended);
    } finally {
      reader.destroy();
    }
  } finally {
    sender.destroy();
    server.close();
  }
}
