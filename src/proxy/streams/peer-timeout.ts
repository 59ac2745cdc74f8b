// Lets the kernel find dead peers: keepalive probes on quiet connections, TCP_USER_TIMEOUT on those with data under way.
// A quiet but living connection is never cut: a watch may be silent for hours (and a slow one neither: see relay.ts).
import type { Socket } from 'node:net';
import { descriptorOf } from '../../netns/descriptor.ts';
import type { NativeAddon } from '../../netns/native.ts';

export function armDeadPeerTimeout(addon: NativeAddon, socket: Socket, timeoutMs: number): void {
  const fd = descriptorOf(socket);
  if (timeoutMs === 0 || fd < 0) return;
  socket.setKeepAlive(true, Math.max(1000, Math.round(timeoutMs / 3)));
  try {
    addon.setUserTimeout(fd, timeoutMs);
  } catch {
    // The peer is gone already and the descriptor with it: the next read or write tells the connection.
  }
}
