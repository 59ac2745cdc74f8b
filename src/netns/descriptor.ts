// Reads the descriptor of a Node socket or server. Node has no public API for it.
import type { Server, Socket } from 'node:net';

/** Returns -1 if the socket is closed or not open yet. */
export function descriptorOf(socket: Socket | Server): number {
  return (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
}
