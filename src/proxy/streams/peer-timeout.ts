// Lets the kernel find dead peers: keepalive probes on quiet connections, TCP_USER_TIMEOUT on those with data under way.
// A quiet but living connection is never cut: a watch may be silent for hours.
import type { Socket } from 'node:net';
import type { NativeAddon } from '../../netns/native.ts';

/** The descriptor of a socket, or -1. Node has no public way to it, and none to TCP_USER_TIMEOUT. */
export function descriptorOf(socket: Socket): number {
  return (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
}

export function armDeadPeerTimeout(addon: NativeAddon, socket: Socket, fd: number, timeoutMs: number): void {
  if (timeoutMs === 0 || fd < 0) return;
  socket.setKeepAlive(true, Math.max(1000, Math.round(timeoutMs / 3)));
  try {
    addon.setUserTimeout(fd, timeoutMs);
  } catch {
    // The peer is gone already and the descriptor with it: the next read or write tells the connection.
  }
}
