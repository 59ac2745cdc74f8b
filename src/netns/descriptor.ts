// The descriptor below a socket or server of Node's, which has no public way to it.
import type { Server, Socket } from 'node:net';

/** -1 when it has none: not open yet, or closed. */
export function descriptorOf(socket: Socket | Server): number {
  return (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
}
