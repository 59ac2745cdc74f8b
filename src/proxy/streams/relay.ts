// Streams bytes both ways between two connected sockets: back-pressure, half-close and resets as one peer would see them of
// the other. It must never buffer more than the sockets' own bounds.
import type { Socket } from 'node:net';

export type RelayEnd = 'finished' | 'client-reset' | 'backend-reset' | 'client-timeout' | 'backend-timeout';

export interface RelayBytes {
  fromClient: number;
  fromBackend: number;
}

/** Resolves once both sockets are closed. `count` is updated while it runs. */
export function relay(client: Socket, backend: Socket, count: RelayBytes): Promise<RelayEnd> {
  return new Promise((resolve) => {
    let end: RelayEnd = 'finished';
    let open = 2;

    // The first failure decides; what follows on the other side is only its echo.
    const fail = (side: 'client' | 'backend', other: Socket, error: NodeJS.ErrnoException) => {
      if (end === 'finished') end = error.code === 'ETIMEDOUT' ? `${side}-timeout` : `${side}-reset`;
      other.resetAndDestroy();
    };
    client.on('error', (error) => fail('client', backend, error));
    backend.on('error', (error) => fail('backend', client, error));
    for (const socket of [client, backend]) {
      socket.once('close', () => {
        open -= 1;
        if (open === 0) resolve(end);
      });
    }
    pump(client, backend, (bytes) => {
      count.fromClient += bytes;
    });
    pump(backend, client, (bytes) => {
      count.fromBackend += bytes;
    });
  });
}

function pump(from: Socket, to: Socket, counted: (bytes: number) => void): void {
  from.on('data', (chunk: Buffer) => {
    counted(chunk.length);
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  // A client may send its hello and FIN at once: then its end has come and gone while we were dialling.
  if (from.readableEnded) to.end();
  else from.on('end', () => to.end());
  from.resume(); // a socket paused by hand does not start flowing with its first listener
}
