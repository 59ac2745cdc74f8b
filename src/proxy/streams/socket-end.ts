// Ends of a socket that Node has no safe call for.
import type { Socket } from 'node:net';
import { descriptorOf } from '../../netns/descriptor.ts';
import type { NativeAddon } from '../../netns/native.ts';

/**
 * Closes with a reset. Not resetAndDestroy(): on a socket whose end() is still under way libuv refuses that (EINVAL), and Node then
 * neither closes it nor says so; the connection would be counted for ever.
 */
export function reset(addon: Pick<NativeAddon, 'setLinger'>, socket: Socket): void {
  const fd = descriptorOf(socket);
  if (fd >= 0 && !socket.connecting) {
    try {
      addon.setLinger(fd, 0);
    } catch {
      // The descriptor is gone already: then so is the connection.
    }
  }
  socket.destroy();
}
